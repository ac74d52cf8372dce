import { campaignOf } from './campaign.ts';
import type { Properties } from './types.ts';

/** A text without its parts that hold an e-mail address or six digits in a row, as a phone or an account has. */
export const covered = (text: string): string =>
  text.replace(/[^\s/=&?]+/g, (part) => (/@|%40|\d{6}/.test(part) ? '***' : part));

/**
 * What may be told of anybody's event, and tells nobody from another, whatever the page has put into it: where it happened,
 * how the visitor came, and what SPEC 2.2 knows of an order.
 */
export const bare = ({ $current_url, $referrer, value, currency, order_id }: Properties): Properties => {
  const { origin, pathname, search } = new URL($current_url as string);
  return {
    ...campaignOf(covered(search)),
    $current_url: origin + covered(pathname),
    $referrer: $referrer && new URL($referrer as string).origin,
    value,
    currency,
    order_id,
  };
};
