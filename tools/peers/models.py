"""The models that assay and its peers run side by side: the same sizes with random weights (speed does not depend on
them), made by transformers, so that every peer starts from one PyTorch module."""
import torch
from transformers import (AutoModelForCausalLM, BertConfig, BertModel, DistilBertConfig,
                          DistilBertForSequenceClassification, GPT2Config, GPT2LMHeadModel, LlamaConfig)
from transformers.models.gpt2 import modeling_gpt2
from transformers.models.llama import modeling_llama


def use_is_causal():
    """Without padding a causal mask need not be a tensor: attention is told is_causal, which every peer's own fused
    attention understands and every exporter takes (building the mask is what they stumble over)."""
    for module in (modeling_gpt2, modeling_llama):
        module.create_causal_mask = lambda *_, **__: None


class LogitsOnly(torch.nn.Module):
    """ids -> logits, without caches and dictionaries: what assay computes and what exporters like."""

    def __init__(self, model, last_only):
        super().__init__()
        self.model = model
        self.last_only = last_only

    def forward(self, input_ids):
        if isinstance(self.model, BertModel):
            return self.model(input_ids=input_ids).last_hidden_state.mean(1)
        if hasattr(self.model, "lm_head"):
            keep = 1 if self.last_only else 0
            return self.model(input_ids=input_ids, use_cache=False, logits_to_keep=keep).logits
        return self.model(input_ids=input_ids).logits


def build(name):
    torch.manual_seed(0)
    use_is_causal()
    if name == "distilbert-base":
        model = DistilBertForSequenceClassification(DistilBertConfig(num_labels=2))
    elif name == "gpt2":
        model = GPT2LMHeadModel(GPT2Config())
    elif name == "minilm-l6":
        model = BertModel(BertConfig(hidden_size=384, num_hidden_layers=6, intermediate_size=1536,
                                     num_attention_heads=12), add_pooling_layer=False)
    elif name == "smollm2-135m":
        model = AutoModelForCausalLM.from_config(LlamaConfig(
            vocab_size=49152, hidden_size=576, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3,
            intermediate_size=1536, max_position_embeddings=8192, rope_theta=100000.0, tie_word_embeddings=True))
    else:
        raise SystemExit(f"{name}: no peer model of that name")
    return LogitsOnly(model.eval(), last_only=name == "smollm2-135m").eval()


VOCABULARY = {"distilbert-base": 30522, "gpt2": 50257, "minilm-l6": 30522, "smollm2-135m": 49152}


def ids_for(name, batch, seq):
    vocabulary = VOCABULARY[name]
    return torch.randint(0, vocabulary, (batch, seq), generator=torch.Generator().manual_seed(1))
