# zsh -f zsh_offers.zsh FOLDER LINE: what zsh's own completion offers behind LINE, one a line; FOLDER has our script as
# _assay. zsh completes at a terminal alone: another one runs at a pseudo-terminal, with a compadd that prints what it is
# given, between two marks.
zmodload zsh/zpty || exit 1
setup=$1/zsh_setup
cat >$setup <<SETUP
PROMPT=
fpath=(${(q)1} \$fpath)
autoload -U compinit
compinit -u -d ${(q)1}/zcompdump
SETUP
cat >>$setup <<'SETUP'
bindkey '^I' complete-word
mark() { print -r - $'\0' }
compprefuncs=(mark)
comppostfuncs=(mark)
zstyle ':completion:*' insert-tab false
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
  local -a hits
  local -A prefix
  builtin compadd -A hits "$@"
  zparseopts -E P:=prefix
  for hit in $hits; do print -r - "$IPREFIX${prefix[-P]}$hit"; done
}
zmodload zsh/zutil
print ready
SETUP
zpty inner zsh -f -i
zpty -w inner "source ${(q)setup}"
until [[ $piece == ready* ]]; do zpty -r inner piece || exit 2; done
zpty -n -w inner "$2"$'\t'
text=
until [[ $text == *$'\0'*$'\0'* ]]; do
  zpty -r inner piece || exit 2
  text+=$piece
done
zpty -d inner
text=${${text#*$'\0'}%%$'\0'*}
for line in ${(f)text//$'\r'/}; do print -r - $line; done
