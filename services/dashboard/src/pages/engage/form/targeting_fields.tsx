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
  { value: 'none', label: 'None' },
  { value: 'analytics', label: 'Analytics' },
  { value: 'ads', label: 'Ads' },
];
const AUDIENCE_MAX = 5;
const AFTER_DONE_DAYS = 30;

const newCondition = (): object => ({ event: '', did: true, times: 1, within_days: 30 });

/** Who sees it, on which pages. */
export function TargetingFields(): VNode {
  return (
    <Section title="Targeting">
      <div class="form-row">
        <LinesAt
          at={['targeting', 'url_pattern']}
          label="Show on pages"
          placeholder="/thanks*"
          hint="One per line, * matches any text. Empty: all pages."
        />
        <LinesAt at={['targeting', 'url_exclude']} label="Hide on pages" placeholder="/checkout*" />
      </div>
      <BoxesAt at={['targeting', 'device']} label="Devices (none means all)" options={DEVICES} />
      <div class="form-row">
        <LinesAt
          at={['targeting', 'locale']}
          label="Visitor languages"
          placeholder="de"
          hint="One per line, such as de or de-AT. Empty: all languages."
        />
        <LinesAt
          at={['targeting', 'country']}
          label="Countries"
          placeholder="BE"
          hint="One two-letter code per line. Empty: all countries."
        />
      </div>
      <fieldset class="stack-small">
        <legend class="strong">Audience (all conditions)</legend>
        <OrderedList
          {...{ at: ['targeting', 'audience'], one: 'Condition', label: 'Conditions', min: 0, max: AUDIENCE_MAX }}
          make={newCondition}
        >
          {(at) => <Condition at={at} />}
        </OrderedList>
      </fieldset>
      <SelectAt at={['consent_needed']} label="Required consent" options={CONSENTS} />
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
      <NumberAt at={[...at, 'times']} label="Minimum times" />
      <NumberAt at={[...at, 'within_days']} label="Within days" />
    </div>
  );
}

/** Frequency. */
export function FrequencyFields(): VNode {
  const { filled, set } = useDefinition();
  const isNever = textAt(filled, ['frequency', 'after_done']) === 'never';
  return (
    <Section title="Frequency">
      <div class="form-row">
        <NumberAt at={['frequency', 'max_times']} label="Max impressions" hint="Empty: unlimited." empty={null} />
        <NumberAt at={['frequency', 'every_days']} label="Days between impressions" />
        <NumberAt
          at={['frequency', 'wait_any_days']}
          label="Days since any widget"
          hint="Since the visitor saw any survey, banner or form."
        />
      </div>
      <div class="form-row">
        <SelectField
          label="After a response or click"
          value={isNever ? 'never' : 'days'}
          options={[
            { value: 'never', label: 'Never show again' },
            { value: 'days', label: 'Show again after some days' },
          ]}
          onValue={(value) => set(['frequency', 'after_done'], value === 'never' ? 'never' : AFTER_DONE_DAYS)}
        />
        {!isNever && <NumberAt at={['frequency', 'after_done']} label="Show again after days" />}
      </div>
    </Section>
  );
}

const PLACES = [
  { value: 'popover', label: 'Corner' },
  { value: 'banner', label: 'Bottom bar' },
  { value: 'modal', label: 'Modal' },
  { value: 'inline', label: 'Inside an element' },
];
const MOMENTS = [
  { value: 'load', label: 'Page load' },
  { value: 'scroll', label: 'Scroll' },
  { value: 'exit', label: 'Exit intent' },
  { value: 'click', label: 'Click' },
  { value: 'event', label: 'Event' },
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
  { name: 'radius', label: 'Corner radius', usual: '8px' },
  { name: 'font_size', label: 'Font size', usual: '16px' },
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
      <TextAt at={['name']} label="Name" hint="Internal; not shown to visitors." />
      {isNew && <TextAt at={['id']} label="Id" hint="Used in events and results. Cannot be changed later." />}
    </div>
  );
}

/** Where it appears, when, and how it looks. */
export function AppearanceFields(): VNode {
  const { filled } = useDefinition();
  const on = textAt(filled, ['show', 'on']);
  return (
    <Section title="Appearance">
      <div class="form-row">
        <SelectAt at={['place']} label="Placement" options={PLACES} />
        {textAt(filled, ['place']) === 'inline' && (
          <TextAt at={['mount']} label="Element selector" placeholder="#offers" />
        )}
      </div>
      <div class="form-row">
        <SelectAt at={['show', 'on']} label="Trigger" options={MOMENTS} />
        {on === 'scroll' && <NumberAt at={['show', 'scroll_percent']} label="Scroll depth, in percent" />}
        {on === 'click' && <TextAt at={['show', 'selector']} label="Click selector" placeholder=".help" />}
        {on === 'event' && <EventAt at={['show', 'event']} label="Event name" />}
        <NumberAt
          at={['show', 'after_ms']}
          label="Delay, in seconds"
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
        label="Default language"
        placeholder="en"
        hint="Such as en or de-AT. Other languages are translations under Advanced."
      />
    </Section>
  );
}

/** When it begins and ends, and what it comes before. */
export function TimeFields(): VNode {
  const hint = `In your time zone, ${timeZone()}.`;
  return (
    <Section title="Schedule and share">
      <div class="form-row">
        <MomentAt at={['starts_at']} label="Start (optional)" hint={hint} />
        <MomentAt at={['ends_at']} label="End (optional)" hint={hint} />
      </div>
      <div class="form-row">
        <NumberAt
          at={['share_percent']}
          label="Share of visitors, in percent"
          hint="The same visitors stay included."
        />
        <NumberAt at={['priority']} label="Priority, 0 to 100" hint="If several match, the highest wins." />
      </div>
    </Section>
  );
}
