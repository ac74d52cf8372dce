import type { VNode } from 'preact';
import type { KeyItem } from '#services/control_api/sites.ts';
import type { ApiError } from '../../api/request.ts';
import { problemOf, TextField } from '../../ui/form_fields.tsx';
import { type KeyDraft, originLines } from './key_form.ts';

interface KeyFieldsProps {
  caller: KeyItem['caller'];
  draft: KeyDraft;
  failure: ApiError | null;
  onDraft(draft: KeyDraft): void;
}

/** What can be said of a key when it is issued and later. */
export function KeyFields({ caller, draft, failure, onDraft }: KeyFieldsProps): VNode {
  return (
    <>
      <TextField
        label="Label"
        hint="What the key is for."
        problem={problemOf(failure, 'label')}
        value={draft.label}
        onValue={(label) => onDraft({ ...draft, label })}
      />
      {caller === 'browser' && (
        <OriginsField value={draft.origins} failure={failure} onValue={(origins) => onDraft({ ...draft, origins })} />
      )}
      <TextField
        label="Max requests in 10 seconds (optional)"
        inputMode="numeric"
        problem={problemOf(failure, 'rate_limit')}
        value={draft.rate}
        onValue={(rate) => onDraft({ ...draft, rate })}
      />
    </>
  );
}

interface OriginsFieldProps {
  /** One on a line. */
  value: string;
  /** Origins that are likely meant. */
  offered?: readonly string[];
  failure: ApiError | null;
  onValue(value: string): void;
}

/** On which pages a browser key may be used; without any it says what that means. */
export function OriginsField({ value, offered = [], failure, onValue }: OriginsFieldProps): VNode {
  const given = originLines(value);
  const left = offered.filter((origin) => !given.includes(origin));
  return (
    <div class="stack-small">
      <TextField
        label="Allowed origins (optional)"
        lines={3}
        placeholder={'https://shop.example\nhttps://*.shop.example'}
        hint="One origin per line. Empty: any page."
        problem={problemOf(failure, 'allowed_origins')}
        value={value}
        onValue={onValue}
      />
      {left.length > 0 && (
        <p class="row">
          {left.map((origin) => (
            <button
              key={origin}
              type="button"
              class="button small"
              onClick={() => onValue([...given, origin].join('\n'))}
            >
              Add {origin}
            </button>
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
