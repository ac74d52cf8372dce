/** What a sign-in at a provider says of when it was that somebody proved who they are. */
export interface ProviderSignIn {
  /** When the provider had them prove it, in milliseconds since 1970 UTC; null where it does not say. */
  authMs: number | null;
  /** When the provider was asked to have them prove it again; null where it was not. */
  askedAgainMs: number | null;
  /** Whether the provider is one that says no time, by its configuration. */
  isTimeOptional: boolean;
  hasPassword: boolean;
}

/** By how much the clock of a provider may be behind. */
const SKEW_MS = 60_000;

/**
 * When whoever signed in at a provider proved who they are; null: this proves nothing. A provider signs those in whom it
 * knows already, so a sign-in as such is none. What asks it to prompt goes by way of the browser, where whoever found that
 * open may take it out: the signed time alone says that it did. One that says no time is believed where it is configured
 * so, it was asked for a proof, and there is no password to ask for.
 */
export function provenAtProviderMs(
  { authMs, askedAgainMs, isTimeOptional, hasPassword }: ProviderSignIn,
  nowMs: number,
): number | null {
  if (authMs === null) return askedAgainMs !== null && isTimeOptional && !hasPassword ? nowMs : null;
  if (askedAgainMs !== null && authMs < askedAgainMs - SKEW_MS) return null;
  return Math.min(authMs, nowMs);
}
