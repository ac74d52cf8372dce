import type { GrantItem } from './grant_form.ts';

/** What a form for a token holds. */
export interface TokenDraft {
  label: string;
  /** Everything, as an owner of the installation; else what the grants say. */
  isAll: boolean;
  grants: readonly GrantItem[];
  /** Empty: for ever. */
  days: string;
}

const DAY_MS = 86_400_000;
/** How long what is issued lasts where nothing else is chosen. */
export const DAYS = '90';
export const LIFETIMES = [
  { value: DAYS, label: '90 days' },
  { value: '365', label: '365 days' },
  { value: '7', label: '7 days' },
  { value: '', label: 'No end' },
];

/** When something ends that lasts so many days from now; null: never. */
export const endAfter = (days: string, nowMs: number): number | null =>
  days === '' ? null : nowMs + Number(days) * DAY_MS;

/** What is sent of a form, as of now. */
export function tokenBody({ label, isAll, grants, days }: TokenDraft, nowMs: number): object {
  return {
    label: label.trim(),
    ...(!isAll && { grants }),
    expires_at: endAfter(days, nowMs),
  };
}
