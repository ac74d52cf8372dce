import type { KeyItem } from '#services/control_api/sites.ts';
import type { ApiError } from '../../api/request.ts';
import { typedNumber } from '../../format.ts';
import { Button } from '../../ui/button.tsx';
import { TextField, textFields } from '../../ui/form_fields.tsx';

interface KeyFieldsProps {
  caller: KeyItem['caller'];
  draft: KeyDraft;
  failure: ApiError | null;
  edit(change: Partial<KeyDraft>): void;
}

export function KeyFields({ caller, draft, failure, edit }: KeyFieldsProps) {
  const field = textFields(draft, edit, failure);
  return (
    <>
      <TextField label="Label" hint="What the key is for." {...field('label')} />
      {caller === 'browser' && <OriginsField {...field('origins', 'allowed_origins')} />}
      <TextField label="Max requests in 10 seconds (optional)" inputMode="numeric" {...field('rate', 'rate_limit')} />
    </>
  );
}

interface OriginsFieldProps {
  value: string;
  offered?: readonly string[];
  problem: string;
  onValue(value: string): void;
}

/** On which pages a browser key may be used; without any it says what that means. */
export function OriginsField({ offered = [], ...field }: OriginsFieldProps) {
  const given = originLines(field.value);
  const left = offered.filter((origin) => !given.includes(origin));
  return (
    <div class="stack-small">
      <TextField
        label="Allowed origins (optional)"
        lines={3}
        placeholder={'https://shop.example\nhttps://*.shop.example'}
        hint="One origin per line. Empty: any page."
        {...field}
      />
      {left.length > 0 && (
        <p class="row">
          {left.map((origin) => (
            <Button
              key={origin}
              kind="small"
              label={`Add ${origin}`}
              onClick={() => field.onValue([...given, origin].join('\n'))}
            />
          ))}
        </p>
      )}
      {given.length === 0 && (
        <p class="note note-warn">
          Browser keys are public. Without allowed origins, any website can use this one to send events in your name.
        </p>
      )}
    </div>
  );
}

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
