const TAG = /(?:W\/)?"[^"]*"/g;

/**
 * Whether an If-None-Match header names the entity tag, so that the answer is 304. The comparison is the weak one, as a
 * cache on the way may have weakened ours (RFC 9110 section 13.1.2).
 */
export function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return (ifNoneMatch.match(TAG) ?? []).some((known) => known.replace(/^W\//, '') === etag);
}
