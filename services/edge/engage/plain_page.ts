import type { HttpRequestIn } from '#infra/http/http_server.ts';
import { CAMPAIGN } from '#pipelines/engage/engage_event.ts';
import type { FormRequest } from '#pipelines/engage/engage_request.ts';
import { originRefusal } from '#pipelines/settings/keys.ts';
import type { ApiKey } from '#schemas/setting.ts';
import { pageOrigin } from '../caller.ts';

const ADDRESS_CHARACTERS_MAX = 4096;
const CAMPAIGN_CHARACTERS_MAX = 200;

/**
 * The page of a plain form: what the form itself states in `_page`, as browsers tell another origin nothing but the page's
 * origin unless the page has them do otherwise; else what Referer says. Undefined: neither says anything.
 */
export function plainPage(all: URLSearchParams, request: HttpRequestIn, key: ApiKey): FormRequest['page'] {
  const url = statedAddress(all, request, key) ?? request.headers.referer;
  if (url === undefined || url.length > ADDRESS_CHARACTERS_MAX) return undefined;
  const campaign = CAMPAIGN.flatMap((name): [string, string][] => {
    const value = all.get(name) ?? '';
    return value === '' || value.length > CAMPAIGN_CHARACTERS_MAX ? [] : [[name, value]];
  });
  return { url, ...(campaign.length === 0 ? {} : { campaign: Object.fromEntries(campaign) }) };
}

/** What a form says is its page, where that is of the origin which sent it, or of one that the key may be used from. */
function statedAddress(all: URLSearchParams, request: HttpRequestIn, key: ApiKey): string | undefined {
  const origin = pageOrigin(request);
  const stated = all.get('_page') ?? '';
  const url = stated === '' ? null : URL.parse(stated, origin ?? undefined);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  const isOfSite = url.origin === origin || originRefusal(key, url.origin) === null;
  return isOfSite ? url.href : undefined;
}
