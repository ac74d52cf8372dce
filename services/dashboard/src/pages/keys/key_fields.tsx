import type { KeyItem } from '#services/control_api/sites.ts';
import type { ApiError } from '../../api/request.ts';
import { Button } from '../../ui/button.tsx';
import { TextField, textFields } from '../../ui/form_fields.tsx';
import { type KeyDraft, originLines } from './key_form.ts';

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
