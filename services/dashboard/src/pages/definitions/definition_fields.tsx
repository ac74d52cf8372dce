import type { VNode } from 'preact';
import type { Failure } from '../../api/api_answer.ts';
import { CheckField, problemOf, SelectField, TextField } from '../../ui/form_fields.tsx';
import { type DefinitionDraft, TRIGGERS, triggerOf } from './definition_form.ts';
import { lineValue, withLine } from './value_lines.ts';

interface DefinitionFieldsProps {
  draft: DefinitionDraft;
  isNew: boolean;
  /** Names of the site's destinations. */
  destinations: readonly string[];
  failure: Failure | null;
  onDraft(draft: DefinitionDraft): void;
}

/** What a definition says: what fires it, where, and what becomes of the event. */
export function DefinitionFields({ draft, isNew, destinations, failure, onDraft }: DefinitionFieldsProps): VNode {
  const kind = triggerOf(draft.trigger);
  const field: FieldOf = (name) => ({
    value: String(draft[name]),
    onValue: (value: string) => onDraft({ ...draft, [name]: value }),
  });
  return (
    <>
      {isNew && <TextField label="Id" required placeholder="newsletter" hint="Chosen for good." {...field('id')} />}
      <TextField label="Name of the event" required placeholder="generate_lead" {...field('name')} />
      <SelectField label="It fires when" options={TRIGGERS} {...field('trigger')} />
      {kind?.number !== undefined && (
        <TextField
          label={kind.number.label}
          inputMode="numeric"
          placeholder={kind.number.usual}
          value={lineValue(draft.properties, kind.number.property)}
          onValue={(value) =>
            onDraft({ ...draft, properties: withLine(draft.properties, kind.number?.property ?? '', value) })
          }
        />
      )}
      {kind?.hasElement === true && (
        <div class="form-row">
          <TextField
            label="Selector of the element"
            placeholder="form.newsletter"
            hint="A CSS selector; for a click, empty is any link or button."
            problem={problemOf(failure, 'selector')}
            {...field('selector')}
          />
          <TextField label="Text in it (optional)" placeholder="Sign up" {...field('text')} />
        </div>
      )}
      <TextField
        label="Pages (optional)"
        placeholder="/blog/*"
        hint="* stands for any text. A path, a host with a path, or a whole address; empty is every page."
        {...field('urlPattern')}
      />
      <WhatIsRead draft={draft} destinations={destinations} failure={failure} field={field} onDraft={onDraft} />
      <CheckField
        label="In use"
        checked={draft.enabled}
        onChecked={(enabled) => onDraft({ ...draft, enabled })}
        hint="Browsers take a change within minutes."
      />
    </>
  );
}

type FieldOf = (name: keyof DefinitionDraft) => { value: string; onValue(value: string): void };

interface WhatIsReadProps extends Omit<DefinitionFieldsProps, 'isNew'> {
  field: FieldOf;
}

function WhatIsRead({ draft, destinations, failure, field, onDraft }: WhatIsReadProps): VNode {
  return (
    <details>
      <summary>What is read and what becomes of it</summary>
      <div class="stack">
        <TextField
          label="Counts as (optional)"
          placeholder="purchase"
          hint="The conversion that destinations get it as."
          {...field('conversion')}
        />
        <TextField
          label="Selector of its value (optional)"
          placeholder=".total"
          problem={problemOf(failure, 'value_selector')}
          {...field('valueSelector')}
        />
        <TextField
          label="Fields that are read (optional)"
          lines={3}
          placeholder="email = input[name=email]"
          hint="A property and a selector on each line."
          problem={problemOf(failure, 'field_selectors')}
          {...field('fields')}
        />
        <TextField
          label="Properties it always has (optional)"
          lines={3}
          placeholder="section = footer"
          hint={'A number, or yes or no as true or false, is no text; "7" in quotes is one.'}
          problem={problemOf(failure, 'properties')}
          {...field('properties')}
        />
        {destinations.length > 0 && <LeftOut draft={draft} destinations={destinations} onDraft={onDraft} />}
      </div>
    </details>
  );
}

function LeftOut({ draft, destinations, onDraft }: Omit<DefinitionFieldsProps, 'isNew' | 'failure'>): VNode {
  const { leftOut } = draft;
  return (
    <fieldset class="stack-small">
      <legend class="strong">Sent to</legend>
      {destinations.map((name) => (
        <CheckField
          key={name}
          label={name}
          checked={!leftOut.includes(name)}
          onChecked={(isSent) =>
            onDraft({ ...draft, leftOut: isSent ? leftOut.filter((one) => one !== name) : [...leftOut, name] })
          }
        />
      ))}
    </fieldset>
  );
}
