import type { VNode } from 'preact';
import { Section } from './common_fields.tsx';
import { type Path, textAt } from './definition_json.ts';
import { OrderedList } from './ordered_list.tsx';
import { CheckAt, EventAt, LinesAt, NumberAt, SelectAt, TextAt, useDefinition } from './path_fields.tsx';
import { Choices } from './question_fields.tsx';

const TYPES = [
  { value: 'text', label: 'Text' },
  { value: 'email', label: 'E-mail address' },
  { value: 'tel', label: 'Phone number' },
  { value: 'number', label: 'Number' },
  { value: 'textarea', label: 'Text of several lines' },
  { value: 'select', label: 'One of a list' },
  { value: 'checkbox', label: 'Box to tick' },
  { value: 'hidden', label: 'Hidden field of a plain form' },
];
/** Those of pipelines/engage/form.ts. */
const MAPS = [
  { value: '', label: 'Nothing that is known' },
  { value: 'email', label: 'E-mail address' },
  { value: 'phone', label: 'Phone number' },
  { value: 'first_name', label: 'First name' },
  { value: 'last_name', label: 'Last name' },
  { value: 'city', label: 'City' },
  { value: 'zip', label: 'Postcode' },
  { value: 'country', label: 'Country' },
  { value: 'external_id', label: 'Id of the customer' },
  { value: 'value', label: 'Value of the lead' },
  { value: 'currency', label: 'Currency of the value' },
  { value: 'order_id', label: 'Number of an order' },
];
const STORES = [
  { value: 'drop', label: 'Nothing' },
  { value: 'keep', label: 'What it says' },
  { value: 'hash', label: 'A keyed hash' },
];
const CHALLENGES = [
  { value: 'off', label: 'Never' },
  { value: 'auto', label: 'In doubt' },
  { value: 'always', label: 'Always' },
];
const FIELDS_MAX = 50;
const OPTIONS_MAX = 100;

/** A field that is still to be described. */
const newField = (free: (prefix: string) => string): object => ({
  ...{ name: free('field'), type: 'text', label: '', required: false },
});

/** What a form asks for, what visitors agree to, and what becomes of it. */
export function FormFields(): VNode {
  return (
    <>
      <TextAt at={['title']} label="Heading (optional)" />
      <TextAt at={['body']} label="Text above the fields (optional)" lines={2} />
      <OrderedList {...{ at: ['fields'], one: 'Field', label: 'Fields', min: 1, max: FIELDS_MAX }} make={newField}>
        {(at, index) => <LeadField at={at} index={index} />}
      </OrderedList>
      <div class="form-row">
        <TextAt at={['button']} label="What the button says (optional)" placeholder="Send" />
        <TextAt at={['message']} label="What is said when it was sent (optional)" placeholder="Thank you" />
      </div>
      <Section title="What visitors agree to">
        <TextAt at={['consent_text']} label="Consent to processing (optional)" lines={2} />
        <CheckAt at={['consent_required']} label="It cannot be sent without" />
        <TextAt at={['marketing_text']} label="Consent to marketing (optional)" lines={2} />
        <TextAt at={['consent_version']} label="Version of these texts (optional)" placeholder="2026-11" />
      </Section>
      <Section title="What becomes of a lead">
        <div class="form-row">
          <EventAt at={['conversion_event']} label="Its event" />
          <NumberAt at={['value']} label="What a lead is worth (optional)" empty={null} />
          <TextAt at={['currency']} label="Currency (optional)" placeholder="EUR" />
        </div>
        <div class="form-row">
          <TextAt
            at={['redirect']}
            label="Page after it was sent (optional)"
            hint="For a form without script."
            placeholder="https://shop.example/thanks"
          />
          <TextAt at={['redirect_invalid']} label="Page where a field is not right (optional)" />
        </div>
      </Section>
      <SpamFields />
    </>
  );
}

function LeadField({ at, index }: { at: Path; index: number }): VNode {
  const { filled } = useDefinition();
  const type = textAt(filled, [...at, 'type']);
  const isMapped = textAt(filled, [...at, 'map']) !== '';
  return (
    <div class="stack-small">
      <div class="form-row">
        <TextAt at={[...at, 'label']} label="What visitors read" />
        <SelectAt at={[...at, 'type']} label="Kind of field" options={TYPES} />
      </div>
      {type === 'select' && <Choices at={[...at, 'options']} one="Option" max={OPTIONS_MAX} />}
      <div class="form-row">
        <SelectAt at={[...at, 'map']} label="It is the visitor's" options={MAPS} />
        {!isMapped && <SelectAt at={[...at, 'store']} label="What is kept of it" options={STORES} />}
      </div>
      <CheckAt at={[...at, 'required']} label="Must be filled in" />
      <details>
        <summary>More of field {index + 1}</summary>
        <div class="form-row">
          <TextAt at={[...at, 'name']} label="Name in the page" />
          <TextAt at={[...at, 'placeholder']} label="Example in it (optional)" />
          <NumberAt at={[...at, 'max_length']} label="Characters at most" />
        </div>
      </details>
    </div>
  );
}

function SpamFields(): VNode {
  return (
    <Section title="What keeps programs away">
      <div class="form-row">
        <SelectAt at={['spam', 'challenge']} label="The browser has to compute something" options={CHALLENGES} />
        <NumberAt at={['spam', 'min_ms']} label="Milliseconds that nobody is faster than" />
        <NumberAt at={['spam', 'links_max']} label="Links in its texts at most" />
      </div>
      <LinesAt
        at={['spam', 'domains_blocked']}
        label="E-mail domains that are not taken"
        hint="One on each line."
        placeholder="mail.example"
      />
      <CheckAt at={['spam', 'without_script']} label="A plain HTML form is taken" hint="It can bring no token." />
      <TextAt at={['spam', 'honeypot']} label="Name of the field that only programs fill in" />
    </Section>
  );
}
