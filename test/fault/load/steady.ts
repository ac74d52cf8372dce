import { type PlatformSite, post, purchase } from '../world/platform_sites.ts';
import { atRate } from './request_rate.ts';

/** An event that the edge has accepted. */
export interface Sent {
  uuid: string;
  site: PlatformSite;
  /** When it was answered; milliseconds since 1970 UTC. */
  acceptedMs: number;
}

const CLIENTS = 8;
const EVENTS_IN_REQUEST = 5;

/** Sends events to all sites in turn, at a rate; answers what was accepted, all of it. */
export async function sendEvents(
  edge: string,
  sites: readonly PlatformSite[],
  prefix: string,
  { count, perSecond }: { count: number; perSecond: number },
): Promise<Sent[]> {
  const nextTurn = atRate(perSecond / EVENTS_IN_REQUEST);
  const sent: Sent[] = [];
  let begun = 0;
  async function client(): Promise<void> {
    while (begun < count) {
      const number = Math.min(EVENTS_IN_REQUEST, count - begun);
      const site = sites[Math.floor(begun / EVENTS_IN_REQUEST) % sites.length] as PlatformSite;
      begun += number;
      await nextTurn();
      const events = Array.from({ length: number }, () => purchase(prefix));
      await post(edge, site.key, events);
      const acceptedMs = Date.now();
      sent.push(...events.map(({ uuid }) => ({ uuid, site, acceptedMs })));
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return sent;
}
