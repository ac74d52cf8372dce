import type { VNode } from 'preact';
import { TextField } from '../../ui/form_fields.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { DefinitionActions } from './definition_actions.tsx';
import type { DefinitionTabProps } from './dialog_parts.ts';
import { readObject, textWith } from './engage_item.ts';

/** A definition in JSON, for what the form beside it does not have. */
export function AdvancedDefinition(props: DefinitionTabProps): VNode {
  const { spec, form } = props;
  const { text } = form.draft;
  const typed = readObject(text);
  const save = (enabled?: boolean): void => {
    if (typed.ok) void form.save(enabled === undefined ? {} : { text: textWith(text, ['enabled'], enabled) });
  };
  return (
    <form
      class="stack code-form"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <fieldset class="stack" disabled={form.isBusy}>
        <TextField
          label={`The ${spec.one}, in JSON`}
          lines={22}
          hint="docs/engage.md says what each field does. What is left out has its usual value."
          problem={typed.ok ? '' : typed.message}
          value={text}
          onValue={(value) => form.edit({ text: value })}
        />
      </fieldset>
      {form.failure !== null && <FailureNote failure={form.failure} />}
      <DefinitionActions {...props} onSave={save} />
    </form>
  );
}
