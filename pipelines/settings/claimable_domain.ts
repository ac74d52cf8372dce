import { isPublicSuffix } from './public_suffixes.ts';

/**
 * Ends of names that are for special uses (RFC 6761, 6762, 7686, 9476 and ICANN's `internal`): they lead into a network of
 * one's own or to machines by their addresses, and no name server of the world can say whose they are. Those for
 * documentation and tests (`example`, `test`) do no harm and stay.
 */
const SPECIAL_ENDS: ReadonlySet<string> = new Set([
  'alt',
  'arpa',
  'internal',
  'invalid',
  'local',
  'localdomain',
  'localhost',
  'onion',
]);

/**
 * Whether a name could be a site's own: below a public suffix, no name for special uses, and not one of this
 * installation's own.
 *
 * @param domain In lower-case punycode.
 * @param cnameTarget The name with a wildcard below it that domains may be an alias of; null where there is none.
 */
export function isClaimable(domain: string, cnameTarget: string | null): boolean {
  if (isPublicSuffix(domain) || SPECIAL_ENDS.has(domain.slice(domain.lastIndexOf('.') + 1))) return false;
  return cnameTarget === null || (domain !== cnameTarget && !domain.endsWith(`.${cnameTarget}`));
}
