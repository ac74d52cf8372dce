/** Short-lived tokens in memory, by whose they are. Losing one costs an exchange. */
export interface TokenStore {
  /** The token that is still valid at a time, or null. */
  get(key: string, nowMs: number): string | null;
  put(key: string, token: string, expiresAtMs: number): void;
  forget(key: string): void;
}

/** How long before its end a token is no longer used: clocks differ, and a request takes its time. */
const MARGIN_MS = 60_000;

/** @param tokensMax tokens kept at the most; the oldest goes first. */
export function createTokens(tokensMax: number): TokenStore {
  const tokens = new Map<string, { token: string; expiresAtMs: number }>();
  return {
    get: (key, nowMs) => {
      const known = tokens.get(key);
      return known !== undefined && nowMs < known.expiresAtMs - MARGIN_MS ? known.token : null;
    },
    put: (key, token, expiresAtMs) => {
      tokens.delete(key);
      tokens.set(key, { token, expiresAtMs });
      const oldest = tokens.keys().next();
      if (tokens.size > tokensMax && oldest.done !== true) tokens.delete(oldest.value);
    },
    forget: (key) => void tokens.delete(key),
  };
}
