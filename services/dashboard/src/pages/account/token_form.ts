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

/** What is sent of a form, as of now. */
export function tokenBody({ label, isAll, grants, days }: TokenDraft, nowMs: number): object {
  return {
    label: label.trim(),
    ...(!isAll && { grants }),
    expires_at: days === '' ? null : nowMs + Number(days) * DAY_MS,
  };
}
