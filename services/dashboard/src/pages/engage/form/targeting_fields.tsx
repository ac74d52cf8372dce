import type { ComponentChildren, VNode } from 'preact';
import { timeZone } from '../../../period.ts';
import { SelectField } from '../../../ui/form_fields.tsx';
import { textAt, valueAt } from '../engage_item.ts';
import { readSeconds, writtenSeconds } from './definition_values.ts';
import {
  BoxesAt,
  ColourAt,
  EventAt,
  LinesAt,
  MomentAt,
  NumberAt,
  OrderedList,
  SelectAt,
  TextAt,
  useDefinition,
} from './path_fields.tsx';

const DEVICES = [
  { value: 'mobile', label: 'Phones' },
  { value: 'tablet', label: 'Tablets' },
  { value: 'desktop', label: 'Computers' },
];
const CONSENTS = [
  { value: 'none', label: 'Nothing' },
  { value: 'analytics', label: 'Analytics' },
  { value: 'ads', label: 'Ads' },
];
const AUDIENCE_MAX = 5;
const AFTER_DONE_DAYS = 30;

const newCondition = (): object => ({ event: '', did: true, times: 1, within_days: 30 });

/** Who sees it, on which pages. */
export function TargetingFields(): VNode {
  return (
    <Section title="Who sees it, and on which pages">
      <div class="form-row">
        <LinesAt
          at={['targeting', 'url_pattern']}
          label="Pages it is shown on"
          placeholder="/thanks*"
          hint="One on each line, * is any text. Empty: every page."
        />
        <LinesAt at={['targeting', 'url_exclude']} label="Pages it is not shown on" placeholder="/checkout*" />
      </div>
      <BoxesAt at={['targeting', 'device']} label="Devices (none: all of them)" options={DEVICES} />
      <div class="form-row">
        <LinesAt
          at={['targeting', 'locale']}
          label="Languages of visitors"
          placeholder="de"
          hint="One on each line, as de or de-AT. Empty: every language."
        />
        <LinesAt
          at={['targeting', 'country']}
          label="Countries"
          placeholder="BE"
          hint="Two letters on each line. Empty: every country."
        />
      </div>
      <fieldset class="stack-small">
        <legend class="strong">What visitors have done, all of it</legend>
        <OrderedList
          {...{ at: ['targeting', 'audience'], one: 'Condition', label: 'Conditions', min: 0, max: AUDIENCE_MAX }}
          make={newCondition}
        >
          {(at) => <Condition at={at} />}
        </OrderedList>
      </fieldset>
      <SelectAt at={['consent_needed']} label="What they must have agreed to" options={CONSENTS} />
    </Section>
  );
}

function Condition({ at }: { at: readonly (string | number)[] }): VNode {
  const { filled, set } = useDefinition();
  const did = valueAt(filled, [...at, 'did']) !== false;
  return (
    <div class="form-row">
      <SelectField
        label="Visitors who"
        value={did ? 'did' : 'did not'}
        options={[
          { value: 'did', label: 'did' },
          { value: 'did not', label: 'did not' },
        ]}
        onValue={(value) => set([...at, 'did'], value === 'did')}
      />
      <EventAt at={[...at, 'event']} label="Event" />
      <NumberAt at={[...at, 'times']} label="At least so often" />
      <NumberAt at={[...at, 'within_days']} label="Within so many days" />
    </div>
  );
}

/** How often one person sees it. */
export function FrequencyFields(): VNode {
  const { filled, set } = useDefinition();
  const isNever = textAt(filled, ['frequency', 'after_done']) === 'never';
  return (
    <Section title="How often one person sees it">
      <div class="form-row">
        <NumberAt
          at={['frequency', 'max_times']}
          label="Times at most"
          hint="Empty: as often as it fits."
          empty={null}
        />
        <NumberAt at={['frequency', 'every_days']} label="Days between two times" />
        <NumberAt
          at={['frequency', 'wait_any_days']}
          label="Days since anything of the site"
          hint="Since they saw any survey, promo or form."
        />
      </div>
      <div class="form-row">
        <SelectField
          label="Once they answered, sent or clicked it"
          value={isNever ? 'never' : 'days'}
          options={[
            { value: 'never', label: 'Never again' },
            { value: 'days', label: 'Again after some days' },
          ]}
          onValue={(value) => set(['frequency', 'after_done'], value === 'never' ? 'never' : AFTER_DONE_DAYS)}
        />
        {!isNever && <NumberAt at={['frequency', 'after_done']} label="After so many days" />}
      </div>
    </Section>
  );
}

const PLACES = [
  { value: 'popover', label: 'In a corner of the page' },
  { value: 'banner', label: 'A bar along the bottom' },
  { value: 'modal', label: 'In the middle, above everything' },
  { value: 'inline', label: 'In an element of the page' },
];
const MOMENTS = [
  { value: 'load', label: 'The page is opened' },
  { value: 'scroll', label: 'The page is scrolled' },
  { value: 'exit', label: 'The visitor is about to leave' },
  { value: 'click', label: 'Something is clicked' },
  { value: 'event', label: 'An event happens' },
];
/** The usual ones are those of services/engage_panels/panel_frame.ts. */
const COLOURS = [
  { name: 'accent', label: 'Buttons', usual: '#1f4fd8' },
  { name: 'on_accent', label: 'Text on buttons', usual: '#ffffff' },
  { name: 'background', label: 'Background', usual: '#ffffff' },
  { name: 'text', label: 'Text', usual: '#1c1c1e' },
  { name: 'border', label: 'Borders', usual: '#767676' },
];
const LENGTHS = [
  { name: 'radius', label: 'Round corners', usual: '8px' },
  { name: 'font_size', label: 'Size of text', usual: '16px' },
  { name: 'width', label: 'Width', usual: '360px' },
];

/** A part of the form that is folded away, as most have no need of it. */
export function Section({ title, children }: { title: string; children: ComponentChildren }): VNode {
  return (
    <details class="form-section">
      <summary>
        <h3>{title}</h3>
      </summary>
      <div class="stack">{children}</div>
    </details>
  );
}

/** What it is called, and by which id for good. */
export function NameFields({ isNew }: { isNew: boolean }): VNode {
  return (
    <div class="form-row">
      <TextAt at={['name']} label="Name" hint="For you; visitors do not see it." />
      {isNew && <TextAt at={['id']} label="Id" hint="Stands in events and results. Chosen for good." />}
    </div>
  );
}

/** Where it appears, when, and how it looks. */
export function AppearanceFields(): VNode {
  const { filled } = useDefinition();
  const on = textAt(filled, ['show', 'on']);
  return (
    <Section title="Where it appears and how it looks">
      <div class="form-row">
        <SelectAt at={['place']} label="Place" options={PLACES} />
        {textAt(filled, ['place']) === 'inline' && (
          <TextAt at={['mount']} label="Selector of the element" placeholder="#offers" />
        )}
      </div>
      <div class="form-row">
        <SelectAt at={['show', 'on']} label="It appears when" options={MOMENTS} />
        {on === 'scroll' && <NumberAt at={['show', 'scroll_percent']} label="How far down, in percent" />}
        {on === 'click' && <TextAt at={['show', 'selector']} label="Selector of what is clicked" placeholder=".help" />}
        {on === 'event' && <EventAt at={['show', 'event']} label="Name of the event" />}
        <NumberAt
          at={['show', 'after_ms']}
          label="Seconds after that"
          placeholder="0"
          empty={0}
          read={readSeconds}
          write={writtenSeconds}
        />
      </div>
      <div class="form-row">
        {COLOURS.map(({ name, ...rest }) => (
          <ColourAt key={name} at={['theme', name]} {...rest} />
        ))}
      </div>
      <div class="form-row">
        {LENGTHS.map(({ name, label, usual }) => (
          <TextAt key={name} at={['theme', name]} label={label} placeholder={usual} isOptional />
        ))}
      </div>
      <TextAt
        at={['locale']}
        label="Language of its texts"
        placeholder="en"
        hint="As en or de-AT. Texts in other languages are written under Advanced, as translations."
      />
    </Section>
  );
}

/** When it begins and ends, and what it comes before. */
export function TimeFields(): VNode {
  const hint = `In your time zone, ${timeZone()}.`;
  return (
    <Section title="When, and for what share of visitors">
      <div class="form-row">
        <MomentAt at={['starts_at']} label="Begins (optional)" hint={hint} />
        <MomentAt at={['ends_at']} label="Ends (optional)" hint={hint} />
      </div>
      <div class="form-row">
        <NumberAt
          at={['share_percent']}
          label="Share of visitors, in percent"
          hint="A visitor stays in or out of it."
        />
        <NumberAt at={['priority']} label="Priority, 0 to 100" hint="Of several that fit, the higher comes first." />
      </div>
    </Section>
  );
}
