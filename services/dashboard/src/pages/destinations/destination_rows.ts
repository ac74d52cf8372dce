import type { DestinationItem, HealthItem } from '#services/control_api/destinations.ts';
import { events, number } from '../../format.ts';
import type { BadgeKind } from '../../ui/panel.tsx';
import type { Kind } from './setting_form.ts';

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
      title: kinds.find(({ name }) => name === item.name)?.title ?? item.name,
      health: found,
      lacks,
      state: item.enabled ? (found?.state ?? lacks) : 'off',
    };
  });
}

export const STATES: Readonly<Record<ShownState, { label: string; badge: BadgeKind; sentence: string }>> = {
  delivering: { label: 'Delivering', badge: 'good', sentence: 'The newest event was delivered.' },
  failing: {
    label: 'Failing',
    badge: 'bad',
    sentence: 'The newest event was not delivered.',
  },
  waits_for_settings: {
    label: 'Waits for settings',
    badge: 'warn',
    sentence: 'Nothing is sent until its settings are changed.',
  },
  idle: { label: 'Idle', badge: 'plain', sentence: 'No event was sent in the last 24 hours.' },
  off: { label: 'Switched off', badge: 'plain', sentence: 'Events are not sent to it.' },
  loading: { label: 'Loading', badge: 'plain', sentence: 'How it did is being asked.' },
  unknown: { label: 'Not known', badge: 'plain', sentence: 'ClickHouse, which knows how it did, does not answer now.' },
};

/** A state in a sentence, and what becomes of the events that were not delivered. */
export function stateSentence({ state, health }: Pick<DestinationRow, 'state' | 'health'>): string {
  const { sentence } = STATES[state];
  const isKnown = health !== null && (state === 'failing' || state === 'waits_for_settings');
  return isKnown ? [sentence, ...undeliveredSentences(health)].join(' ') : sentence;
}

/** What becomes of events that were not delivered; nothing where there are none. */
export function undeliveredSentences(health: Pick<HealthItem, 'state' | 'waiting' | 'failed'>): string[] {
  const { state, waiting, failed } = health;
  const [verb, itself] = waiting === 1 ? ['waits and is', 'itself'] : ['wait and are', 'themselves'];
  const then = state === 'waits_for_settings' ? `sent by ${itself} after that` : `tried again by ${itself}`;
  return [
    ...(waiting > 0 ? [`${events(waiting)} ${verb} ${then}.`] : []),
    ...(failed > 0 ? [`${events(failed)} failed for good: send them again once the cause is gone.`] : []),
  ];
}

/** How many events failed for good, and whether all that did were put right. */
export function failedText({ failed, dead }: Pick<HealthItem, 'failed' | 'dead'>): string {
  if (failed > 0) return events(failed);
  return dead === 0 ? 'None' : `None any more; ${number(dead)} did in the last 24 hours`;
}

const CREDENTIALS =
  'The platform does not take the credentials. Make new ones there, set them under Settings, and send a test event.';

/** `ofTest`: where it is another of a test event, which is sent once and never again by itself. */
const ADVICE: readonly { reasons: RegExp; advice: string; ofTest?: string }[] = [
  {
    reasons: /settings|secret_unreadable/,
    advice: 'A setting is missing or malformed. Look under Settings: the field says what it takes.',
  },
  {
    reasons: /token|credential|unauthori[sz]ed|forbidden|permission|signature|^http_40[13]$|key/,
    advice: CREDENTIALS,
  },
  {
    reasons: /throttl|rate|^http_429$/,
    advice: 'The platform asks for fewer calls. It is called more slowly by itself; there is nothing to do.',
    ofTest: 'The platform asks for fewer calls. Send the test again in a minute.',
  },
  {
    reasons: /^(connect|dns|tls)$/,
    advice:
      'Nothing answers at the address that is called. Look under Settings whether it is right, where it has one; else the platform is away. It is tried again by itself.',
    ofTest:
      'Nothing answers at the address that is called. Look under Settings whether it is right, where it has one, and send the test again.',
  },
  {
    reasons: /^(timeout|reset)$|^http_5|breaker_open|unavailable/,
    advice:
      'The platform does not answer as it should. It is tried again by itself; see its status page if this lasts.',
    ofTest: 'The platform does not answer as it should. Send the test again later; see its status page if this lasts.',
  },
  {
    reasons: /address_refused|invalid_request/,
    advice: 'The address in the settings may not be called. It has to be https and lead to the public internet.',
  },
  {
    reasons: /handed_over/,
    advice: 'Another process takes the events over. This passes by itself.',
  },
];

/** What somebody can do about a reason. Platforms have codes of their own, so it counts whether it waits for settings. */
export function adviceFor(reason: string, waitsForSettings: boolean): string {
  const found = ADVICE.find(({ reasons }) => reasons.test(reason))?.advice;
  if (found !== undefined) return found;
  return waitsForSettings
    ? CREDENTIALS
    : 'The platform refuses events. Attempts says what it answered; events that died can be sent again by a replay.';
}

/** What somebody can do about a test event that was not delivered. */
export function testAdvice(reason: string, waitsForSettings: boolean): string {
  const found = ADVICE.find(({ reasons }) => reasons.test(reason));
  if (found !== undefined) return found.ofTest ?? found.advice;
  return waitsForSettings
    ? CREDENTIALS
    : 'The platform refuses this test event. Its answer says why: correct the settings, or test with another event.';
}

export const skippedTotal = ({ skipped }: Pick<HealthItem, 'skipped'>): number =>
  Object.values(skipped).reduce((sum, count) => sum + count, 0);
