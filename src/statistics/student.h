#pragma once

namespace assay {

/// P(|T| > t) of Student's t with so many degrees of freedom, 1 or more: the regularised incomplete beta function
/// I_x(df/2, 1/2) at x = df / (df + t^2) (Abramowitz & Stegun 1972, 26.7.1) by its continued fraction (26.5.8), within
/// 1e-12. Asserts df >= 1.
double student_tail(double t, double degrees);

/// The t beyond which |T| lies with probability p, 0 < p < 1: the inverse of student_tail, within 1e-9 of itself.
double student_bound(double p, double degrees);

}  // namespace assay
