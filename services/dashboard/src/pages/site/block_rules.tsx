import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { SiteItem } from '#services/control_api/site_shapes.ts';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { problemOf, SelectField, TextField } from '../../ui/form_fields.tsx';
import { Panel } from '../../ui/panel.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { mayAt } from '../../who.ts';
import { useSiteChange } from './save_site.tsx';
import type { SitePartProps } from './site_part.ts';

type Rule = SiteItem['block_rules'][number];

const KINDS: readonly { value: Rule['kind']; label: string; hint: string }[] = [
  { value: 'ip', label: 'Address', hint: 'An address, or a range such as 203.0.113.0/24.' },
  { value: 'user_agent', label: 'User agent', hint: 'A part of the browser’s user agent.' },
  { value: 'country', label: 'Country', hint: 'Two capital letters; T1 is Tor.' },
  { value: 'event', label: 'Event', hint: 'The name of an event.' },
  { value: 'property', label: 'Property', hint: 'The value of a property; empty: whenever the property is there.' },
  { value: 'distinct_id', label: 'Distinct id', hint: 'The id of one visitor.' },
];
const labelOf = (kind: Rule['kind']): string => KINDS.find(({ value }) => value === kind)?.label ?? kind;

/** Events that the edge drops. */
export function BlockRules(props: SitePartProps): VNode {
  const { site } = props;
  const action = useSiteChange(props);
  const mayChange = mayAt('block_rules.change', site.site_id);
  const remove = (rule: Rule): void => {
    void action.save({ block_rules: site.block_rules.filter((one) => one !== rule) }, 'The rule was removed');
  };
  return (
    <Panel title="Events that are dropped" note="The edge drops what any rule is about; dropped events are counted.">
      <div class="stack">
        {mayChange && <NewRule {...props} />}
        {action.failure !== null && <FailureNote failure={action.failure} />}
        <DataTable
          caption="Block rules"
          columns={columnsOf(mayChange, action.isBusy, remove)}
          rows={site.block_rules}
          keyOf={({ kind, value, property }) => `${kind} ${property} ${value}`}
          csvName="block-rules"
          emptyText="Nothing is dropped"
        />
      </div>
    </Panel>
  );
}

function columnsOf(mayChange: boolean, isBusy: boolean, remove: (rule: Rule) => void): readonly Column<Rule>[] {
  const shown: Column<Rule>[] = [
    { id: 'kind', title: 'What', value: ({ kind }) => labelOf(kind) },
    { id: 'property', title: 'Property', value: ({ property }) => property ?? '' },
    { id: 'value', title: 'Value', value: ({ value }) => value },
  ];
  if (!mayChange) return shown;
  const cell = (rule: Rule): VNode => (
    <button
      type="button"
      class="button small quiet"
      disabled={isBusy}
      aria-label={`Remove the rule for ${labelOf(rule.kind)} ${rule.value}`}
      onClick={() => remove(rule)}
    >
      Remove
    </button>
  );
  return [...shown, { id: 'remove', title: 'Action', align: 'end', cell }];
}

function NewRule(props: SitePartProps): VNode {
  const { site } = props;
  const [kind, setKind] = useState<Rule['kind']>('ip');
  const [value, setValue] = useState('');
  const [property, setProperty] = useState('');
  const action = useSiteChange(props);
  const add = async (event: Event): Promise<void> => {
    event.preventDefault();
    const rule: Rule = { kind, value: value.trim(), property: kind === 'property' ? property.trim() : null };
    if (await action.save({ block_rules: [...site.block_rules, rule] }, 'The rule was added')) setValue('');
  };
  return (
    <form class="stack" onSubmit={(event) => void add(event)}>
      <div class="form-row">
        <SelectField label="What" value={kind} onValue={(one) => setKind(one as Rule['kind'])} options={KINDS} />
        {kind === 'property' && <TextField label="Property" required value={property} onValue={setProperty} />}
        <TextField
          label="Value"
          required={kind !== 'property'}
          hint={KINDS.find((one) => one.value === kind)?.hint}
          problem={problemOf(action.failure, 'block_rules')}
          value={value}
          onValue={setValue}
        />
      </div>
      {action.failure !== null && action.failure.problems.length === 0 && <FailureNote failure={action.failure} />}
      <div class="actions">
        <button type="submit" class="button primary" disabled={action.isBusy}>
          Add the rule
        </button>
      </div>
    </form>
  );
}
