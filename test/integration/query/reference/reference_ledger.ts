/** One event as its generator knows it: each happened once, to somebody. */
export interface Deed {
  id: string;
  /** The person it belongs to when everything is known. */
  person: string;
  name: string;
  /** When it happened, and when it arrived, in milliseconds since 1970 UTC. */
  at: number;
  arrivedAt: number;
  /** Its place in the request. */
  index: number;
  source: 'website' | 'physical_store';
  country: string;
  value: number | null;
  /** Of money: empty, or null, where the event says none. */
  currency: string;
  orderId: string;
  refundId: string;
  tax: number | null;
  shipping: number | null;
  isRenewal: boolean;
  campaign: string | null;
  plan: 'free' | 'paid';
  size: number;
  /** Where its address is, and by what it came, as far as is known. */
  entry: Record<'geo_country' | 'geo_region' | 'geo_city' | 'browser' | 'device_type', string>;
  /** May be negative. */
  margin: number | null;
  street: string;
  /** A date, or something that is none. */
  since: string;
  tags: (string | number | boolean)[];
  items: { sku: string; cost: { net: number } }[];
  /** What it tells of its visit: whose it is, by a session that its sender tells, or by its browser; null: it is of none. */
  visit: { key: string; isTold: boolean } | null;
  /** How its visitor came, where it says so. */
  arrival: ArrivalTold | null;
  /** The address of its page as it is sent, and which page of the site that is; empty where it has none. */
  address: string;
  page: string;
  engagedMs: number;
  scrolled: number | null;
  /** All events of its person, itself among them, in no order. */
  life: readonly Deed[];
}

export interface ArrivalTold {
  isCampaign: boolean;
  channel: string;
  source: string;
  medium: string;
  campaign: string;
  referrer: string;
}

/** What a site's people did, in no order. */
export type Ledger = readonly Deed[];

/** By time, then arrival, then place in the request. */
export function inOrder(deeds: readonly Deed[]): Deed[] {
  return deeds.toSorted((a, b) => a.at - b.at || a.arrivedAt - b.arrivedAt || a.index - b.index);
}

export function byPerson(deeds: readonly Deed[]): Map<string, Deed[]> {
  return Map.groupBy(inOrder(deeds), ({ person }) => person);
}
