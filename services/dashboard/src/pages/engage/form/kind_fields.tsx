import type { VNode } from 'preact';
import { stepsOf } from '#services/engage_panels/panels.ts';
import { SelectField } from '../../../ui/form_fields.tsx';
import { listAt, type Path, textAt, valueAt } from '../engage_item.ts';
import {
  BoxesAt,
  CheckAt,
  EventAt,
  LinesAt,
  NumberAt,
  OrderedList,
  ProblemAt,
  SelectAt,
  TextAt,
  useDefinition,
} from './path_fields.tsx';
import { Section } from './targeting_fields.tsx';

const TYPES = [
  { value: 'text', label: 'Text' },
  { value: 'email', label: 'E-mail address' },
  { value: 'tel', label: 'Phone number' },
  { value: 'number', label: 'Number' },
  { value: 'textarea', label: 'Multi-line text' },
  { value: 'select', label: 'Dropdown' },
  { value: 'checkbox', label: 'Checkbox' },
  { value: 'hidden', label: 'Hidden field' },
];
/** Those of pipelines/engage/form.ts. */
const MAPS = [
  { value: '', label: 'None' },
  { value: 'email', label: 'E-mail address' },
  { value: 'phone', label: 'Phone number' },
  { value: 'first_name', label: 'First name' },
  { value: 'last_name', label: 'Last name' },
  { value: 'city', label: 'City' },
  { value: 'zip', label: 'Postcode' },
  { value: 'country', label: 'Country' },
  { value: 'external_id', label: 'Customer id' },
  { value: 'value', label: 'Lead value' },
  { value: 'currency', label: 'Lead currency' },
  { value: 'order_id', label: 'Order number' },
];
const STORES = [
  { value: 'drop', label: 'Nothing' },
  { value: 'keep', label: 'The value' },
  { value: 'hash', label: 'A keyed hash' },
];
const CHALLENGES = [
  { value: 'off', label: 'Never' },
  { value: 'auto', label: 'When suspicious' },
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
        <TextAt at={['button']} label="Button text (optional)" placeholder="Send" />
        <TextAt at={['message']} label="Confirmation (optional)" placeholder="Thank you" />
      </div>
      <Section title="Consent">
        <TextAt at={['consent_text']} label="Consent to processing (optional)" lines={2} />
        <CheckAt at={['consent_required']} label="Consent is required" />
        <TextAt at={['marketing_text']} label="Consent to marketing (optional)" lines={2} />
        <TextAt at={['consent_version']} label="Consent text version (optional)" placeholder="2026-11" />
      </Section>
      <Section title="Lead handling">
        <div class="form-row">
          <EventAt at={['conversion_event']} label="Conversion event" />
          <NumberAt at={['value']} label="Lead value (optional)" empty={null} />
          <TextAt at={['currency']} label="Currency (optional)" placeholder="EUR" />
        </div>
        <div class="form-row">
          <TextAt
            at={['redirect']}
            label="Thank-you page URL (optional)"
            hint="For forms without JavaScript."
            placeholder="https://shop.example/thanks"
          />
          <TextAt at={['redirect_invalid']} label="Error page URL (optional)" />
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
        <TextAt at={[...at, 'label']} label="Label" />
        <SelectAt at={[...at, 'type']} label="Field type" options={TYPES} />
      </div>
      {type === 'select' && <Choices at={[...at, 'options']} one="Option" max={OPTIONS_MAX} />}
      <div class="form-row">
        <SelectAt at={[...at, 'map']} label="Maps to" options={MAPS} />
        {!isMapped && <SelectAt at={[...at, 'store']} label="Stored as" options={STORES} />}
      </div>
      <CheckAt at={[...at, 'required']} label="Required" />
      <details>
        <summary>More options of field {index + 1}</summary>
        <div class="form-row">
          <TextAt at={[...at, 'name']} label="Field name" />
          <TextAt at={[...at, 'placeholder']} label="Placeholder (optional)" />
          <NumberAt at={[...at, 'max_length']} label="Max characters" />
        </div>
      </details>
    </div>
  );
}

function SpamFields(): VNode {
  return (
    <Section title="Spam protection">
      <div class="form-row">
        <SelectAt at={['spam', 'challenge']} label="Proof-of-work challenge" options={CHALLENGES} />
        <NumberAt at={['spam', 'min_ms']} label="Minimum time to fill in, in ms" />
        <NumberAt at={['spam', 'links_max']} label="Max links in texts" />
      </div>
      <LinesAt
        at={['spam', 'domains_blocked']}
        label="Blocked e-mail domains"
        hint="One per line."
        placeholder="mail.example"
      />
      <CheckAt at={['spam', 'without_script']} label="Accept plain HTML forms" hint="They cannot send a token." />
      <TextAt at={['spam', 'honeypot']} label="Honeypot field name" />
    </Section>
  );
}

/** What a promo says and where it leads. */
export function PromoFields(): VNode {
  return (
    <>
      <TextAt at={['title']} label="Heading" />
      <TextAt at={['body']} label="Text (optional)" lines={3} />
      <div class="form-row">
        <TextAt at={['button', 'text']} label="Button text (optional)" placeholder="See it" />
        <TextAt at={['button', 'url']} label="Button URL (optional)" placeholder="/sale" />
      </div>
      <ProblemAt at={['button']} />
      <div class="form-row">
        <TextAt at={['image_url']} label="Image URL (optional)" placeholder="https://shop.example/sale.webp" />
        <TextAt at={['image_alt']} label="Image description" hint="For screen readers." />
      </div>
      <TextAt at={['code']} label="Coupon code (optional)" placeholder="WINTER20" />
      <Section title="Event properties">
        <div class="form-row">
          <TextAt at={['creative']} label="Creative (optional)" hint="Names the text or image in reports." />
          <TextAt at={['slot']} label="Slot (optional)" hint="Names the position on the page in reports." />
        </div>
      </Section>
    </>
  );
}

/** What a survey says, from its heading to its last words. @param onLook Told which question is worked on. */
export function SurveyFields({ onLook }: { onLook(index: number): void }): VNode {
  return (
    <>
      <TextAt at={['title']} label="Heading (optional)" />
      <Questions onLook={onLook} />
      <Section title="Thank-you message">
        <TextAt at={['thanks', 'title']} label="Heading at the end (optional)" placeholder="Thank you" />
        <TextAt at={['thanks', 'text']} label="Text at the end (optional)" lines={2} />
      </Section>
    </>
  );
}

const KINDS = [
  { value: 'open', label: 'Open text' },
  { value: 'rating', label: 'Rating' },
  { value: 'single', label: 'Single choice' },
  { value: 'multiple', label: 'Multiple choice' },
  { value: 'link', label: 'Link' },
];
const SCALES = [
  { value: 2, label: '1 to 2' },
  { value: 3, label: '1 to 3' },
  { value: 5, label: '1 to 5' },
  { value: 7, label: '1 to 7' },
  { value: 10, label: '1 to 10' },
  { value: 11, label: '0 to 10 (net promoter score)' },
];
const DISPLAYS = [
  { value: 'number', label: 'Numbers' },
  { value: 'emoji', label: 'Faces' },
  { value: 'star', label: 'Stars' },
];

const QUESTIONS_MAX = 20;
const CHOICES_MAX = 30;

/** A question that is still to be written. */
const newQuestion = (free: (prefix: string) => string): object => ({ id: free('q'), type: 'open', text: '' });
const newChoice = (free: (prefix: string) => string): object => ({ id: free('c'), label: '' });

/** The questions of a survey. @param onLook Told which one is worked on. */
function Questions({ onLook }: { onLook(index: number): void }): VNode {
  return (
    <OrderedList
      {...{ at: ['questions'], one: 'Question', label: 'Questions', min: 1, max: QUESTIONS_MAX }}
      make={newQuestion}
      onLook={onLook}
    >
      {(at, index) => <Question at={at} index={index} />}
    </OrderedList>
  );
}

function Question({ at, index }: { at: Path; index: number }): VNode {
  const { filled } = useDefinition();
  const type = textAt(filled, [...at, 'type']);
  const hasChoices = type === 'single' || type === 'multiple';
  return (
    <div class="stack-small">
      <TextAt at={[...at, 'text']} label="Question" lines={2} />
      <div class="form-row">
        <SelectAt at={[...at, 'type']} label="Answer type" options={KINDS} />
        {type === 'rating' && <SelectAt at={[...at, 'scale']} label="Scale" options={SCALES} />}
        {type === 'rating' && <SelectAt at={[...at, 'display']} label="Display" options={DISPLAYS} />}
      </div>
      {type === 'rating' && (
        <div class="form-row">
          <TextAt at={[...at, 'low_label']} label="Lowest label (optional)" placeholder="Not likely" />
          <TextAt at={[...at, 'high_label']} label="Highest label (optional)" placeholder="Very likely" />
        </div>
      )}
      {type === 'link' && <TextAt at={[...at, 'url']} label="Link URL" placeholder="https://shop.example/review" />}
      {type === 'open' && <NumberAt at={[...at, 'max_length']} label="Max characters" />}
      {hasChoices && <Choices at={[...at, 'choices']} one="Answer" />}
      <CheckAt at={[...at, 'required']} label="Required" />
      <details>
        <summary>More options of question {index + 1}</summary>
        <div class="stack-small">
          <TextAt at={[...at, 'description']} label="Description (optional)" lines={2} />
          <TextAt at={[...at, 'button']} label="Button text (optional)" placeholder="Next" />
          {hasChoices && <CheckAt at={[...at, 'open_choice']} label="Allow a free-text answer" />}
          {hasChoices && <CheckAt at={[...at, 'shuffle']} label="Shuffle" />}
          <NextFields at={at} index={index} />
          <TextAt at={[...at, 'id']} label="Id" hint="Used in events and results. Changing it starts new results." />
        </div>
      </details>
      <ProblemAt at={at} />
    </div>
  );
}

interface ChoicesProps {
  at: Path;
  one: string;
  max?: number;
}

/** What may be chosen: what visitors read, and the id that is sent. */
function Choices({ at, one, max = CHOICES_MAX }: ChoicesProps): VNode {
  return (
    <OrderedList at={at} one={one} label={`${one}s`} min={0} max={max} make={newChoice}>
      {(choice, index) => (
        <div class="form-row">
          <TextAt at={[...choice, 'label']} label={`${one} ${index + 1}`} />
          <TextAt at={[...choice, 'id']} label="Id" />
        </div>
      )}
    </OrderedList>
  );
}

const ANSWERED = [
  { value: 'answered', label: 'was answered' },
  { value: 'skipped', label: 'was skipped' },
];
const CHOSEN = [{ value: 'in', label: 'was one of' }, { value: 'equals', label: 'was' }, ...ANSWERED];
const RATED = [{ value: 'at_most', label: 'was at most' }, { value: 'at_least', label: 'was at least' }, ...CHOSEN];

const RULES_MAX = 20;
/** The longest that there is; somebody may have written any. */
const SCALE_MAX = 11;

interface OfQuestion {
  /** The question. */
  at: Path;
  /** Its place. */
  index: number;
}

/** What comes after a question: by its answer, and otherwise. */
function NextFields({ at, index }: OfQuestion): VNode {
  const { filled } = useDefinition();
  const type = textAt(filled, [...at, 'type']);
  const [first] = comparisonsOf(type);
  return (
    <fieldset class="stack-small">
      <legend class="strong">Branching</legend>
      <OrderedList
        {...{ at: [...at, 'branches'], one: 'Rule', label: 'Rules', min: 0, max: RULES_MAX }}
        make={() => ({ is: first?.value, to: [], go_to: 'end' })}
      >
        {(rule) => <Rule at={at} index={index} rule={rule} />}
      </OrderedList>
      <SelectAt
        at={[...at, 'next']}
        label="Otherwise go to"
        options={[{ value: '', label: 'Next question' }, ...targetsFrom(filled, index)]}
      />
    </fieldset>
  );
}

function Rule({ at, index, rule }: OfQuestion & { rule: Path }): VNode {
  const { filled, set } = useDefinition();
  const is = textAt(filled, [...rule, 'is']);
  const comparisons = comparisonsOf(textAt(filled, [...at, 'type']));
  const known = comparisons.some(({ value }) => value === is)
    ? comparisons
    : [{ value: is, label: is }, ...comparisons];
  const isOfAnswer = is !== 'answered' && is !== 'skipped';
  return (
    <div class="stack-small">
      <div class="form-row">
        <SelectField
          label="If the answer"
          value={is}
          options={known}
          onValue={(value) => {
            const to = value === 'answered' || value === 'skipped' ? [] : listAt(filled, [...rule, 'to']);
            set(rule, { ...(valueAt(filled, rule) as object), is: value, to });
          }}
        />
        {(is === 'at_most' || is === 'at_least') && (
          <SelectAt at={[...rule, 'to', 0]} label="Step" options={answersOf(filled, at)} />
        )}
        <SelectAt at={[...rule, 'go_to']} label="go to" options={targetsFrom(filled, index)} />
      </div>
      {isOfAnswer && is !== 'at_most' && is !== 'at_least' && (
        <BoxesAt at={[...rule, 'to']} label="Answers" options={answersOf(filled, at)} />
      )}
      {(is === 'at_most' || is === 'at_least') && <ProblemAt at={[...rule, 'to']} />}
      <ProblemAt at={[...rule, 'is']} />
    </div>
  );
}

function comparisonsOf(type: string): { value: string; label: string }[] {
  if (type === 'rating') return RATED;
  return type === 'single' || type === 'multiple' ? CHOSEN : ANSWERED;
}

/** What an answer may be compared with: the steps of a rating, or the choices. */
function answersOf(filled: unknown, at: Path): { value: string | number; label: string }[] {
  const scale = valueAt(filled, [...at, 'scale']);
  if (textAt(filled, [...at, 'type']) === 'rating' && typeof scale === 'number' && scale <= SCALE_MAX) {
    return stepsOf({ scale }).map((step) => ({ value: step, label: String(step) }));
  }
  return listAt(filled, [...at, 'choices']).map((choice) => {
    const id = textAt(choice, ['id']);
    return { value: id, label: textAt(choice, ['label']) || id };
  });
}

/** Where a survey may go on after a question. */
function targetsFrom(filled: unknown, index: number): { value: string; label: string }[] {
  const others = listAt(filled, ['questions']).flatMap((question, place) =>
    place === index ? [] : [{ value: textAt(question, ['id']), label: `Question ${place + 1}` }],
  );
  return [...others, { value: 'end', label: 'End' }];
}
