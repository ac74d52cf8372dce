import type { VNode } from 'preact';
import { SelectField } from '../../ui/form_fields.tsx';
import { Section } from './common_fields.tsx';
import { textAt, valueAt } from './definition_json.ts';
import { OrderedList } from './ordered_list.tsx';
import { BoxesAt, EventAt, LinesAt, NumberAt, SelectAt, useDefinition } from './path_fields.tsx';

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
