import type { VNode } from 'preact';
import type { Failure } from '../../api/api_answer.ts';
import { CopyButton } from '../../ui/copy_button.tsx';
import { problemOf, SelectField, TextField } from '../../ui/form_fields.tsx';
import type { Draft, SettingField } from './setting_form.ts';

interface SettingFieldsProps {
  fields: readonly SettingField[];
  draft: Draft;
  /** Names of the secrets that are stored. */
  stored: readonly string[];
  failure: Failure | null;
  onDraft(draft: Draft): void;
}

/** The fields of a destination's settings: what must be given first, and the rest folded away. */
export function SettingFields({ fields, ...rest }: SettingFieldsProps): VNode {
  const first = fields.filter(({ isNeeded }) => isNeeded);
  const others = fields.filter(({ isNeeded }) => !isNeeded);
  const hasProblem = others.some(({ name }) => problemOf(rest.failure, name) !== '');
  return (
    <>
      {first.map((field) => (
        <OneField key={field.name} field={field} {...rest} />
      ))}
      {others.length > 0 && (
        <details open={first.length === 0 || hasProblem}>
          <summary>{others.length === 1 ? 'One more setting' : `${others.length} more settings`}</summary>
          <div class="stack">
            {others.map((field) => (
              <OneField key={field.name} field={field} {...rest} />
            ))}
          </div>
        </details>
      )}
    </>
  );
}

function OneField({
  field,
  draft,
  stored,
  failure,
  onDraft,
}: Omit<SettingFieldsProps, 'fields'> & { field: SettingField }): VNode {
  const { name, title, description, choices, isSecret, isNeeded, usual, isLong } = field;
  const isStored = stored.includes(name);
  const common = {
    label: isNeeded ? title : `${title} (optional)`,
    problem: problemOf(failure, name),
    value: draft[name] ?? '',
    onValue: (value: string) => onDraft({ ...draft, [name]: value }),
  };
  if (choices !== null) {
    const options = choices.map((value) => ({ value, label: value }));
    return <SelectField {...common} hint={description} options={options} />;
  }
  const placeholder = isSecret && isStored ? 'Stored; type to replace it' : usual;
  const isSigning = name === 'signing_secret';
  const text = (
    <TextField
      {...common}
      hint={isSecret ? `${description} It is stored sealed and never shown again.`.trim() : description}
      // A secret that is made here has to be taken from here to the receiver.
      type={isSecret && !isLong && !isSigning ? 'password' : 'text'}
      autocomplete="off"
      required={isNeeded && !(isSecret && isStored)}
      lines={isLong ? 3 : 1}
      {...(placeholder !== '' && { placeholder })}
    />
  );
  if (!isSigning) return text;
  return (
    <div class="stack-small">
      {text}
      <p class="row">
        <button type="button" class="button small" onClick={() => common.onValue(newSigningSecret())}>
          Generate a secret
        </button>
        {common.value !== '' && <CopyButton text={common.value} what="signing secret" />}
      </p>
    </div>
  );
}

/** A secret of Standard Webhooks: `whsec_` and the base64 of 32 random bytes. */
function newSigningSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}
