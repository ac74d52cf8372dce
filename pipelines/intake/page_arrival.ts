import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';

/** What the address of a page tells of how the visitor came, as the tag reads it too (`services/tag/src/campaign.ts`). */
const CAMPAIGN = /^utm_\w{1,60}$/;
const CLICK = /^(?:(?:fb|g|d|tt|tw|y)clid|msclkid|[gw]braid|li_fat_id|epik|rdt_cid|sccid)$/;
/** Cut off, a click's id is another's, and an e-mail address would no longer be known for one. */
const VALUE_CHARACTERS_MAX = 500;
const PARAMETERS_MAX = 30;

/**
 * The parameters `utm_*` of a page's address, and the click ids that ad platforms add to it, under their names in small
 * letters, however they were written. Of one that stands there more than once, the first that says something.
 *
 * @param address Absolute or not; anything but a text tells nothing.
 * @param withClicks Whether the visitor's clicks on ads may be known.
 */
export function pageArrival(address: unknown, withClicks = true): JsonObject {
  if (typeof address !== 'string') return {};
  const [beforeFragment = ''] = address.split('#', 1);
  const query = beforeFragment.indexOf('?');
  const told = new Map<string, string>();
  if (query < 0) return {};
  for (const [sent, value] of new URLSearchParams(beforeFragment.slice(query))) {
    const name = sent.toLowerCase();
    if (value.trim() === '' || value.length >= VALUE_CHARACTERS_MAX || told.has(name)) continue;
    if (CAMPAIGN.test(name) || (withClicks && CLICK.test(name))) told.set(name, value);
    if (told.size === PARAMETERS_MAX) break;
  }
  return Object.fromEntries(told);
}
