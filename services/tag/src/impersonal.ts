import { campaignOf } from './campaign.ts';
import type { Properties } from './types.ts';

/** What SPEC 2.2 knows a person by. */
const PERSONAL = /^(e?-?mail|phone|(fir|la)st_name|external_id|client_ip_address|(.*_)?user_?id)$/i;

/**
 * The properties without what tells one visitor from another: no identifier, of the page's address no query but the
 * campaign, and of the page before only the site.
 */
export function impersonal(properties: Properties): Properties {
  const { origin, pathname, search } = new URL(String(properties['$current_url']));
  const referrer = properties['$referrer'] as string | undefined;
  const others = Object.entries(properties).filter(([name]) => !PERSONAL.test(name));
  return {
    ...campaignOf(search),
    ...Object.fromEntries(others),
    $current_url: origin + pathname,
    ...(referrer ? { $referrer: new URL(referrer).origin } : {}),
  };
}
