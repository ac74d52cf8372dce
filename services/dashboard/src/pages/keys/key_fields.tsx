import type { VNode } from 'preact';
import type { KeyItem } from '#services/control_api/sites.ts';
import type { Failure } from '../../api/api_answer.ts';
import { problemOf, TextField } from '../../ui/form_fields.tsx';
import type { KeyDraft } from './key_form.ts';
import { OriginsField } from './origins_field.tsx';

interface KeyFieldsProps {
  caller: KeyItem['caller'];
  draft: KeyDraft;
  failure: Failure | null;
  onDraft(draft: KeyDraft): void;
}

/** What can be said of a key when it is issued and later. */
export function KeyFields({ caller, draft, failure, onDraft }: KeyFieldsProps): VNode {
  return (
    <>
      <TextField
        label="Label"
        hint="What the key is for, so that others know whether it may go."
        problem={problemOf(failure, 'label')}
        value={draft.label}
        onValue={(label) => onDraft({ ...draft, label })}
      />
      {caller === 'browser' && (
        <OriginsField value={draft.origins} failure={failure} onValue={(origins) => onDraft({ ...draft, origins })} />
      )}
      <TextField
        label="Requests in 10 seconds, at most (optional)"
        inputMode="numeric"
        problem={problemOf(failure, 'rate_limit')}
        value={draft.rate}
        onValue={(rate) => onDraft({ ...draft, rate })}
      />
    </>
  );
}
