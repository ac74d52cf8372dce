import type { KeyItem } from '#services/control_api/sites.ts';
import { typedNumber } from '../../format.ts';

export interface KeyDraft {
  label: string;
  origins: string;
  /** Requests in 10 seconds; empty: as many as any key may. */
  rate: string;
}

export const draftOfKey = (item: Pick<KeyItem, 'label' | 'allowed_origins' | 'rate_limit'>): KeyDraft => ({
  label: item.label,
  origins: item.allowed_origins.join('\n'),
  rate: item.rate_limit === null ? '' : String(item.rate_limit),
});

/** The origins that a text has, one on a line. */
export const originLines = (text: string): string[] => text.split(/[\s,]+/).filter((origin) => origin !== '');

export const bodyOfKey = ({ label, origins, rate }: KeyDraft) => ({
  label: label.trim(),
  allowed_origins: originLines(origins),
  rate_limit: rate.trim() === '' ? null : typedNumber(rate),
});

export const KEY_NAMES: Readonly<Record<keyof KeyDraft, string>> = {
  label: 'Label',
  origins: 'Allowed origins',
  rate: 'Max requests in 10 seconds',
};

export const isSameKey = (one: KeyDraft, other: KeyDraft): boolean =>
  JSON.stringify(bodyOfKey(one)) === JSON.stringify(bodyOfKey(other));

export const EMPTY_KEY: KeyDraft = { label: '', origins: '', rate: '' };

const HOUR_MS = 3_600_000;
/** How long a key that is replaced may go on working. */
export const OVERLAPS = [
  { value: String(24 * HOUR_MS), label: '24 hours' },
  { value: String(168 * HOUR_MS), label: '7 days' },
  { value: String(720 * HOUR_MS), label: '30 days' },
  { value: String(HOUR_MS), label: '1 hour' },
  { value: '0', label: 'Revoke it now' },
] as const;
