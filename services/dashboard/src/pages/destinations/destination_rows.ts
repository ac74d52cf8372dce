import { kindOfDestination } from '#pipelines/delivery/destination_id.ts';
import type { DestinationItem, HealthItem } from '#services/control_api/destinations.ts';
import { events, number } from '../../format.ts';
import type { StateLook } from '../../ui/panel.tsx';
import type { Kind } from './setting_form.ts';
import { undeliveredSentences } from './undelivered.ts';

/** A destination of a site, with its kind and how it did in the last 24 hours, as far as both are known. */
export interface DestinationRow {
  item: DestinationItem;
  title: string;
  health: HealthItem | null;
  /** Why there is no health: nobody has answered yet, or could, or nothing was sent. */
  lacks: Lack;
  state: ShownState;
}

type Lack = 'loading' | 'unknown' | 'idle';
type ShownState = HealthItem['state'] | 'off' | Lack;

/** The platform, and the name behind it where it is not the first of its kind. */
export function destinationTitle(name: string, kinds: readonly Kind[]): string {
  const kind = kindOfDestination(name);
  const title = kinds.find((one) => one.name === kind)?.title ?? kind;
  return name === kind ? title : `${title} (${name.slice(kind.length + 1)})`;
}

/** Health is null, or still loading, where nobody has answered: then no state but "off" is known. */
export function destinationRows(
  items: readonly DestinationItem[],
  kinds: readonly Kind[],
  health: readonly HealthItem[] | 'loading' | null,
): DestinationRow[] {
  const known = typeof health === 'string' || health === null ? null : health;
  const lacks = known !== null ? 'idle' : health === null ? 'unknown' : 'loading';
  return items.map((item) => {
    const found = known?.find(({ destination }) => destination === item.name) ?? null;
    return {
      item,
      title: destinationTitle(item.name, kinds),
      health: found,
      lacks,
      state: item.enabled ? (found?.state ?? lacks) : 'off',
    };
  });
}

export const STATES: Readonly<Record<ShownState, StateLook & { sentence: string }>> = {
  delivering: { label: 'Delivering', badge: 'good', sentence: 'The newest event was delivered.' },
  failing: {
    label: 'Failing',
    badge: 'bad',
    sentence: 'The newest event was not delivered.',
  },
  waits_for_settings: {
    label: 'Settings rejected',
    badge: 'warn',
    sentence: 'Nothing is sent until its settings are changed.',
  },
  idle: { label: 'Idle', badge: 'plain', sentence: 'No event was sent in the last 24 hours.' },
  off: { label: 'Disabled', badge: 'plain', sentence: 'No events are sent to it.' },
  loading: { label: 'Loading', badge: 'plain', sentence: 'Its status is loading.' },
  unknown: {
    label: 'Unknown',
    badge: 'plain',
    sentence: 'ClickHouse is not responding, so its status is unavailable.',
  },
};

/** A state in a sentence, and what becomes of the events that were not delivered. */
export function stateSentence({ state, health }: Pick<DestinationRow, 'state' | 'health'>): string {
  const { sentence } = STATES[state];
  const isKnown = health !== null && (state === 'failing' || state === 'waits_for_settings');
  return isKnown ? [sentence, ...undeliveredSentences(health)].join(' ') : sentence;
}

/** How many events failed for good, and whether all that did were put right. */
export function failedText({ failed, dead }: Pick<HealthItem, 'failed' | 'dead'>): string {
  if (failed > 0) return events(failed);
  return dead === 0 ? 'None' : `None left; ${number(dead)} did in the last 24 hours`;
}

const CREDENTIALS =
  'The platform rejects the credentials. Create new ones there, enter them under Settings, and send a test event.';

/** `ofTest`: where it is another of a test event, which is sent once and never again by itself. */
const ADVICE: readonly { reasons: RegExp; advice: string; ofTest?: string }[] = [
  {
    reasons: /settings|secret_unreadable/,
    advice: 'A setting is missing or invalid. Check it under Settings.',
  },
  {
    reasons: /token|credential|unauthori[sz]ed|forbidden|permission|signature|^http_40[13]$|key/,
    advice: CREDENTIALS,
  },
  {
    reasons: /throttl|rate|^http_429$/,
    advice: 'The platform limits the rate. Calls are slowed down automatically; nothing to do.',
    ofTest: 'The platform limits the rate. Send the test again in a minute.',
  },
  {
    reasons: /^(connect|dns|tls)$/,
    advice:
      'The address cannot be reached. Check it under Settings if there is one; otherwise the platform is down. Deliveries are retried automatically.',
    ofTest: 'The address cannot be reached. Check it under Settings if there is one, and send the test again.',
  },
  {
    reasons: /^(timeout|reset)$|^http_5|breaker_open|unavailable/,
    advice:
      'The platform is not responding correctly. Deliveries are retried automatically; see its status page if this persists.',
    ofTest:
      'The platform is not responding correctly. Send the test again later; see its status page if this persists.',
  },
  {
    reasons: /address_refused|invalid_request/,
    advice: 'The address in the settings is not allowed. It must be https and on the public internet.',
  },
  {
    reasons: /handed_over/,
    advice: 'Another process is taking over. Nothing to do.',
  },
];

/** What somebody can do about a reason. Platforms have codes of their own, so it counts whether it waits for settings. */
export function adviceFor(reason: string, waitsForSettings: boolean): string {
  const found = ADVICE.find(({ reasons }) => reasons.test(reason))?.advice;
  if (found !== undefined) return found;
  return waitsForSettings
    ? CREDENTIALS
    : 'The platform rejects events. Attempts has its responses; failed events can be replayed.';
}

export function testAdvice(reason: string, waitsForSettings: boolean): string {
  const found = ADVICE.find(({ reasons }) => reasons.test(reason));
  if (found !== undefined) return found.ofTest ?? found.advice;
  return waitsForSettings
    ? CREDENTIALS
    : 'The platform rejects this test event. Its response says why: correct the settings, or test with another event.';
}

export const skippedTotal = ({ skipped }: Pick<HealthItem, 'skipped'>): number =>
  Object.values(skipped).reduce((sum, count) => sum + count, 0);
