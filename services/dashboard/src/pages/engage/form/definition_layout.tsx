import type { ComponentChildren } from 'preact';
import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import { stepsOf } from '#services/engage_panels/panels.ts';
import { timeZone } from '../../../format.ts';
import { SelectField } from '../../../ui/form_fields.tsx';
import { listAt, textAt } from '../engage_item.ts';
import { type Option, optionsOf } from './definition_values.ts';
import { FieldAt, OrderedList, ProblemAt, usePlace } from './field_at.tsx';

type Make = (free: (prefix: string) => string) => object;

/** A part of the form that is folded away, as most have no need of it. */
const Section = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <details class="form-section">
    <summary>
      <h3>{title}</h3>
    </summary>
    <div class="stack">{children}</div>
  </details>
);

interface DefinitionFieldsProps {
  kind: EngageKind;
  isNew: boolean;
  onLook(index: number): void;
}

export const DefinitionFields = ({ kind, isNew, onLook }: DefinitionFieldsProps) => (
  <>
    <div class="form-row">
      <FieldAt at="name" label="Name" hint="Internal; not shown to visitors." />
      {isNew && <FieldAt at="id" label="Id" hint="Used in events and results. Cannot be changed later." />}
    </div>
    {kind === 'survey' && <SurveyFields onLook={onLook} />}
    {kind === 'promo' && <PromoFields />}
    {kind === 'form' && <FormFields />}
    <AppearanceFields />
    <TargetingFields />
    <FrequencyFields />
    <ScheduleFields />
  </>
);

const PLACES = optionsOf({ popover: 'Corner', banner: 'Bottom bar', modal: 'Modal', inline: 'Inside an element' });
const TRIGGERS = optionsOf({
  load: 'Page load',
  scroll: 'Scroll',
  exit: 'Exit intent',
  click: 'Click',
  event: 'Event',
});

/** Where it appears, when, and how it looks. The usual colours are those of services/engage_panels/panel_frame.ts. */
const AppearanceFields = () => (
  <Section title="Appearance">
    <div class="form-row">
      <FieldAt at="place" label="Placement" options={PLACES} />
      <FieldAt only={['place', 'inline']} at="mount" label="Element selector" placeholder="#offers" />
    </div>
    <div class="form-row">
      <FieldAt at="show.on" label="Trigger" options={TRIGGERS} />
      <FieldAt only={['show.on', 'scroll']} at="show.scroll_percent" label="Scroll depth, in percent" />
      <FieldAt only={['show.on', 'click']} at="show.selector" label="Click selector" placeholder=".help" />
      <FieldAt only={['show.on', 'event']} at="show.event" as="event" label="Event name" />
      <FieldAt at="show.after_ms" as="seconds" label="Delay, in seconds" placeholder="0" />
    </div>
    <div class="form-row">
      <FieldAt at="theme.accent" as="colour" label="Buttons" placeholder="#1f4fd8" />
      <FieldAt at="theme.on_accent" as="colour" label="Text on buttons" placeholder="#ffffff" />
      <FieldAt at="theme.background" as="colour" label="Background" placeholder="#ffffff" />
      <FieldAt at="theme.text" as="colour" label="Text" placeholder="#1c1c1e" />
      <FieldAt at="theme.border" as="colour" label="Borders" placeholder="#767676" />
    </div>
    <div class="form-row">
      <FieldAt at="theme.radius" label="Corner radius" placeholder="8px" />
      <FieldAt at="theme.font_size" label="Font size" placeholder="16px" />
      <FieldAt at="theme.width" label="Width" placeholder="360px" />
    </div>
    <FieldAt
      at="locale"
      label="Default language"
      placeholder="en"
      hint="Such as en or de-AT. Other languages are translations under Advanced."
    />
  </Section>
);

const DEVICES = optionsOf({ mobile: 'Phones', tablet: 'Tablets', desktop: 'Computers' });
const CONSENTS = optionsOf({ none: 'None', analytics: 'Analytics', ads: 'Ads' });
const DID = [
  { value: true, label: 'did' },
  { value: false, label: 'did not' },
];
const newCondition: Make = () => ({ event: '', did: true, times: 1, within_days: 30 });

function TargetingFields() {
  const pages = 'One per line, * matches any text. Empty: all pages.';
  const languages = 'One per line, such as de or de-AT. Empty: all languages.';
  const countries = 'One two-letter code per line. Empty: all countries.';
  return (
    <Section title="Targeting">
      <div class="form-row">
        <FieldAt at="targeting.url_pattern" label="Show on pages" placeholder="/thanks*" hint={pages} />
        <FieldAt at="targeting.url_exclude" label="Hide on pages" placeholder="/checkout*" />
      </div>
      <FieldAt at="targeting.device" label="Devices (none means all)" options={DEVICES} />
      <div class="form-row">
        <FieldAt at="targeting.locale" label="Visitor languages" placeholder="de" hint={languages} />
        <FieldAt at="targeting.country" label="Countries" placeholder="BE" hint={countries} />
      </div>
      <fieldset class="stack-small">
        <legend class="strong">Audience (all conditions)</legend>
        <OrderedList at="targeting.audience" one="Condition" make={newCondition}>
          {() => (
            <div class="form-row">
              <FieldAt at="did" label="Visitors who" options={DID} />
              <FieldAt at="event" as="event" label="Event" />
              <FieldAt at="times" label="Minimum times" />
              <FieldAt at="within_days" label="Within days" />
            </div>
          )}
        </OrderedList>
      </fieldset>
      <FieldAt at="consent_needed" label="Required consent" options={CONSENTS} />
    </Section>
  );
}

const AFTER_DONE_DAYS = 30;

function FrequencyFields() {
  const { value, change } = usePlace('frequency.after_done');
  return (
    <Section title="Frequency">
      <div class="form-row">
        <FieldAt at="frequency.max_times" label="Max impressions" hint="Empty: unlimited." />
        <FieldAt at="frequency.every_days" label="Days between impressions" />
        <FieldAt
          at="frequency.wait_any_days"
          label="Days since any widget"
          hint="Since the visitor saw any survey, banner or form."
        />
      </div>
      <div class="form-row">
        <SelectField
          label="After a response or click"
          value={value === 'never' ? 'never' : 'days'}
          options={[
            { value: 'never', label: 'Never show again' },
            { value: 'days', label: 'Show again after some days' },
          ]}
          onValue={(chosen) => change(chosen === 'never' ? 'never' : AFTER_DONE_DAYS)}
        />
        {value !== 'never' && <FieldAt at="frequency.after_done" label="Show again after days" />}
      </div>
    </Section>
  );
}

function ScheduleFields() {
  const hint = `In the time zone of the site, ${timeZone()}.`;
  return (
    <Section title="Schedule and share">
      <div class="form-row">
        <FieldAt at="starts_at" as="moment" label="Start (optional)" hint={hint} />
        <FieldAt at="ends_at" as="moment" label="End (optional)" hint={hint} />
      </div>
      <div class="form-row">
        <FieldAt at="share_percent" label="Share of visitors, in percent" hint="The same visitors stay included." />
        <FieldAt at="priority" label="Priority, 0 to 100" hint="If several match, the highest wins." />
      </div>
    </Section>
  );
}

const PromoFields = () => (
  <>
    <FieldAt at="title" label="Heading" />
    <FieldAt at="body" label="Text (optional)" lines={3} />
    <div class="form-row">
      <FieldAt at="button.text" label="Button text (optional)" placeholder="See it" />
      <FieldAt at="button.url" label="Button URL (optional)" placeholder="/sale" />
    </div>
    <ProblemAt at="button" />
    <div class="form-row">
      <FieldAt at="image_url" label="Image URL (optional)" placeholder="https://shop.example/sale.webp" />
      <FieldAt at="image_alt" label="Image description" hint="For screen readers." />
    </div>
    <FieldAt at="code" label="Coupon code (optional)" placeholder="WINTER20" />
    <Section title="Event properties">
      <div class="form-row">
        <FieldAt at="creative" label="Creative (optional)" hint="Names the text or image in reports." />
        <FieldAt at="slot" label="Slot (optional)" hint="Names the position on the page in reports." />
      </div>
    </Section>
  </>
);

const FIELD_TYPES = optionsOf({
  text: 'Text',
  email: 'E-mail address',
  tel: 'Phone number',
  number: 'Number',
  textarea: 'Multi-line text',
  select: 'Dropdown',
  checkbox: 'Checkbox',
  hidden: 'Hidden field',
});
/** Those of pipelines/engage/form.ts. */
const MAPS = optionsOf({
  '': 'None',
  email: 'E-mail address',
  phone: 'Phone number',
  first_name: 'First name',
  last_name: 'Last name',
  city: 'City',
  zip: 'Postcode',
  country: 'Country',
  external_id: 'Customer id',
  value: 'Lead value',
  currency: 'Lead currency',
  order_id: 'Order number',
});
const STORES = optionsOf({ drop: 'Nothing', keep: 'The value', hash: 'A keyed hash' });
const CHALLENGES = optionsOf({ off: 'Never', auto: 'When suspicious', always: 'Always' });
const newField: Make = (free) => ({ name: free('field'), type: 'text', label: '', required: false });

const FormFields = () => (
  <>
    <FieldAt at="title" label="Heading (optional)" />
    <FieldAt at="body" label="Text above the fields (optional)" lines={2} />
    <OrderedList at="fields" one="Field" make={newField}>
      {(index) => <LeadField index={index} />}
    </OrderedList>
    <div class="form-row">
      <FieldAt at="button" label="Button text (optional)" placeholder="Send" />
      <FieldAt at="message" label="Confirmation (optional)" placeholder="Thank you" />
    </div>
    <Section title="Consent">
      <FieldAt at="consent_text" label="Consent to processing (optional)" lines={2} />
      <FieldAt at="consent_required" label="Consent is required" />
      <FieldAt at="marketing_text" label="Consent to marketing (optional)" lines={2} />
      <FieldAt at="consent_version" label="Consent text version (optional)" placeholder="2026-11" />
    </Section>
    <Section title="Lead handling">
      <div class="form-row">
        <FieldAt at="conversion_event" as="event" label="Conversion event" />
        <FieldAt at="value" label="Lead value (optional)" />
        <FieldAt at="currency" label="Currency (optional)" placeholder="EUR" />
      </div>
      <div class="form-row">
        <FieldAt
          at="redirect"
          label="Thank-you page URL (optional)"
          hint="For forms without JavaScript."
          placeholder="https://shop.example/thanks"
        />
        <FieldAt at="redirect_invalid" label="Error page URL (optional)" />
      </div>
    </Section>
    <Section title="Spam protection">
      <div class="form-row">
        <FieldAt at="spam.challenge" label="Proof-of-work challenge" options={CHALLENGES} />
        <FieldAt at="spam.min_ms" label="Minimum time to fill in, in ms" />
        <FieldAt at="spam.links_max" label="Max links in texts" />
      </div>
      <FieldAt
        at="spam.domains_blocked"
        label="Blocked e-mail domains"
        hint="One per line."
        placeholder="mail.example"
      />
      <FieldAt at="spam.without_script" label="Accept plain HTML forms" hint="They cannot send a token." />
      <FieldAt at="spam.honeypot" label="Honeypot field name" />
    </Section>
  </>
);

const LeadField = ({ index }: { index: number }) => (
  <div class="stack-small">
    <div class="form-row">
      <FieldAt at="label" label="Label" />
      <FieldAt at="type" label="Field type" options={FIELD_TYPES} />
    </div>
    {usePlace().textIn('type') === 'select' && <Choices at="options" one="Option" />}
    <div class="form-row">
      <FieldAt at="map" label="Maps to" options={MAPS} />
      <FieldAt only={['map', '']} at="store" label="Stored as" options={STORES} />
    </div>
    <FieldAt at="required" label="Required" />
    <details>
      <summary>More options of field {index + 1}</summary>
      <div class="form-row">
        <FieldAt at="name" label="Field name" />
        <FieldAt at="placeholder" label="Placeholder (optional)" />
        <FieldAt at="max_length" label="Max characters" />
      </div>
    </details>
  </div>
);

const newChoice: Make = (free) => ({ id: free('c'), label: '' });

const Choices = ({ at, one }: { at: string; one: string }) => (
  <OrderedList at={at} one={one} make={newChoice}>
    {(index) => (
      <div class="form-row">
        <FieldAt at="label" label={`${one} ${index + 1}`} />
        <FieldAt at="id" label="Id" />
      </div>
    )}
  </OrderedList>
);

const newQuestion: Make = (free) => ({ id: free('q'), type: 'open', text: '' });

const SurveyFields = ({ onLook }: Pick<DefinitionFieldsProps, 'onLook'>) => (
  <>
    <FieldAt at="title" label="Heading (optional)" />
    <OrderedList at="questions" one="Question" make={newQuestion} onLook={onLook}>
      {(index) => <Question index={index} />}
    </OrderedList>
    <Section title="Thank-you message">
      <FieldAt at="thanks.title" label="Heading at the end (optional)" placeholder="Thank you" />
      <FieldAt at="thanks.text" label="Text at the end (optional)" lines={2} />
    </Section>
  </>
);

const ANSWER_TYPES = optionsOf({
  open: 'Open text',
  rating: 'Rating',
  single: 'Single choice',
  multiple: 'Multiple choice',
  link: 'Link',
});
const SCALES = [2, 3, 5, 7, 10, 11].map((value) => ({
  value,
  label: value === 11 ? '0 to 10 (net promoter score)' : `1 to ${value}`,
}));
const DISPLAYS = optionsOf({ number: 'Numbers', emoji: 'Faces', star: 'Stars' });

function Question({ index }: { index: number }) {
  const type = usePlace().textIn('type');
  const hasChoices = type === 'single' || type === 'multiple';
  return (
    <div class="stack-small">
      <FieldAt at="text" label="Question" lines={2} />
      <div class="form-row">
        <FieldAt at="type" label="Answer type" options={ANSWER_TYPES} />
        <FieldAt only={['type', 'rating']} at="scale" label="Scale" options={SCALES} />
        <FieldAt only={['type', 'rating']} at="display" label="Display" options={DISPLAYS} />
      </div>
      {type === 'rating' && (
        <div class="form-row">
          <FieldAt at="low_label" label="Lowest label (optional)" placeholder="Not likely" />
          <FieldAt at="high_label" label="Highest label (optional)" placeholder="Very likely" />
        </div>
      )}
      <FieldAt only={['type', 'link']} at="url" label="Link URL" placeholder="https://shop.example/review" />
      <FieldAt only={['type', 'open']} at="max_length" label="Max characters" />
      {hasChoices && <Choices at="choices" one="Answer" />}
      <FieldAt at="required" label="Required" />
      <details>
        <summary>More options of question {index + 1}</summary>
        <div class="stack-small">
          <FieldAt at="description" label="Description (optional)" lines={2} />
          <FieldAt at="button" label="Button text (optional)" placeholder="Next" />
          <FieldAt only={['type', 'single', 'multiple']} at="open_choice" label="Allow a free-text answer" />
          <FieldAt only={['type', 'single', 'multiple']} at="shuffle" label="Shuffle" />
          <Branching index={index} />
          <FieldAt at="id" label="Id" hint="Used in events and results. Changing it starts new results." />
        </div>
      </details>
      <ProblemAt />
    </div>
  );
}

const ANSWERED = optionsOf({ answered: 'was answered', skipped: 'was skipped' });
const CHOSEN = [...optionsOf({ in: 'was one of', equals: 'was' }), ...ANSWERED];
const COMPARISONS: Readonly<Record<string, Option[]>> = {
  rating: [...optionsOf({ at_most: 'was at most', at_least: 'was at least' }), ...CHOSEN],
  single: CHOSEN,
  multiple: CHOSEN,
};

/** The longest that there is; somebody may have written any. */
const SCALE_MAX = 11;

function Branching({ index }: { index: number }) {
  const { filled, value: question, textIn } = usePlace();
  const others = listAt(filled, ['questions']).flatMap((other, place) =>
    place === index ? [] : [{ value: textAt(other, ['id']), label: `Question ${place + 1}` }],
  );
  const targets = [...others, { value: 'end', label: 'End' }];
  const comparisons = COMPARISONS[textIn('type')] ?? ANSWERED;
  return (
    <fieldset class="stack-small">
      <legend class="strong">Branching</legend>
      <OrderedList at="branches" one="Rule" make={() => ({ is: comparisons[0]?.value, to: [], go_to: 'end' })}>
        {() => <Rule comparisons={comparisons} answers={answersOf(question)} targets={targets} />}
      </OrderedList>
      <FieldAt at="next" label="Otherwise go to" options={[{ value: '', label: 'Next question' }, ...targets]} />
    </fieldset>
  );
}

interface RuleProps {
  comparisons: readonly Option[];
  answers: readonly Option[];
  targets: readonly Option[];
}

function Rule({ comparisons, answers, targets }: RuleProps) {
  const { value: rule, textIn, change } = usePlace();
  const is = textIn('is');
  const isNumeric = is === 'at_most' || is === 'at_least';
  const isOfAnswer = (value: string): boolean => value !== 'answered' && value !== 'skipped';
  const known = comparisons.map(({ value, label }) => ({ value: String(value), label }));
  return (
    <div class="stack-small">
      <div class="form-row">
        <SelectField
          label="If the answer"
          value={is}
          options={known.some(({ value }) => value === is) ? known : [{ value: is, label: is }, ...known]}
          onValue={(value) =>
            change({ ...(rule as object), is: value, to: isOfAnswer(value) ? listAt(rule, ['to']) : [] })
          }
        />
        {isNumeric && <FieldAt at="to.0" label="Step" options={answers} />}
        <FieldAt at="go_to" label="go to" options={targets} />
      </div>
      {isOfAnswer(is) && !isNumeric && <FieldAt at="to" label="Answers" options={answers} />}
      {isNumeric && <ProblemAt at="to" />}
      <ProblemAt at="is" />
    </div>
  );
}

/** The steps of a rating, or the choices of another question. */
function answersOf(question: unknown): Option[] {
  const { scale } = question as { scale?: unknown };
  if (textAt(question, ['type']) === 'rating' && typeof scale === 'number' && scale <= SCALE_MAX) {
    return stepsOf({ scale }).map((step) => ({ value: step, label: String(step) }));
  }
  return listAt(question, ['choices']).map((choice) => {
    const id = textAt(choice, ['id']);
    return { value: id, label: textAt(choice, ['label']) || id };
  });
}
