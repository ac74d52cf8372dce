import { type Deed, inOrder, type Ledger } from './reference_ledger.ts';

const PAUSE_MS = 1_800_000;
const DAY_MS = 86_400_000;

/** What a browser, or a session that its sender tells, did at one time. */
export interface Visit {
  deeds: Deed[];
  began: number;
}

/** All visits of the events of a time and of a day around it, in no order. */
export function visitsByHand(ledger: Ledger, { from, to }: { from: number; to: number }): Visit[] {
  const near = ledger.filter(({ at, visit }) => visit !== null && at >= Math.max(0, from - DAY_MS) && at < to + DAY_MS);
  const keys = Map.groupBy(near, ({ visit }) => visit?.key ?? '');
  return [...keys.values()].flatMap((deeds) => {
    const sorted = inVisitOrder(deeds);
    return sorted[0]?.visit?.isTold ? [visitOf(sorted)] : cut(sorted);
  });
}

const visitOf = (deeds: Deed[]): Visit => ({ deeds, began: deeds[0]?.at ?? 0 });

/** Of one moment those that tell a campaign come first. */
const inVisitOrder = (deeds: readonly Deed[]): Deed[] =>
  inOrder(deeds).toSorted((a, b) => a.at - b.at || Number(campaignOf(a) === null) - Number(campaignOf(b) === null));

const campaignOf = ({ arrival }: Deed): string | null =>
  arrival?.isCampaign === true ? [arrival.source, arrival.medium, arrival.campaign].join('/') : null;

/** A browser's events by pauses, and by moments at which another campaign begins than the one that the visit has. */
function cut(sorted: readonly Deed[]): Visit[] {
  const visits: Visit[] = [];
  let own: string | null = null;
  let last = Number.NEGATIVE_INFINITY;
  for (const deed of sorted) {
    const told = deed.at > last ? campaignOf(deed) : null;
    const current = visits.at(-1);
    const isOther = told !== null && own !== null && told !== own;
    if (current === undefined || deed.at - last > PAUSE_MS || isOther) {
      visits.push(visitOf([deed]));
      own = told;
    } else {
      current.deeds.push(deed);
      own = told ?? own;
    }
    last = deed.at;
  }
  return visits;
}

/** A value of a visit. */
export function visitText(value: string, { deeds }: Visit): string {
  const first = (of: (deed: Deed) => string): string => deeds.map(of).find((text) => text !== '') ?? '';
  if (value === 'landing_page') return first(({ page }) => page);
  if (value === 'exit_page') return deeds.findLast(({ page }) => page !== '')?.page ?? '';
  // Devices and places are those of the first event that tells any of them.
  const known = deeds.map(({ entry }): Record<string, string> => entry);
  const entry = known.find((one) => Object.values(one).some((text) => text !== ''));
  if (known.some((one) => value in one)) return entry?.[value] ?? '';
  const arrival = (deeds.find((deed) => campaignOf(deed) !== null) ?? deeds[0])?.arrival ?? null;
  if (value === 'channel') return arrival?.channel ?? 'Direct';
  if (arrival === null) return '';
  return (
    { source: arrival.source, medium: arrival.medium, campaign: arrival.campaign, referrer: arrival.referrer }[value] ??
    ''
  );
}

/** What an event alone says of a visit's value. */
export function ownVisitText(value: string, deed: Deed): string {
  if (deed.arrival === null && ['channel', 'source', 'medium', 'campaign', 'referrer'].includes(value)) return '';
  return visitText(value, { deeds: [deed], began: deed.at });
}
