import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { SiteItem } from '#services/control_api/sites.ts';
import { ConflictDialog } from '../../editing/conflict_dialog.tsx';
import { isSame } from '../../editing/differences.ts';
import { type Saving, useSaving } from '../../editing/use_saving.ts';
import { addressOf } from '../../router.ts';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { problemOf, SelectField, TextField } from '../../ui/form_fields.tsx';
import { Panel } from '../../ui/panel.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { mayAt } from '../../who.ts';
import { patchSite, readSite } from './save_site.tsx';
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

/** A rule as a line. */
const ruleText = ({ kind, value, property }: Rule): string =>
  [labelOf(kind), ...(property === null ? [] : [property]), value].join(' ');

/** Changes the rules, whatever they are by then. */
function useRules({ site, onChanged }: SitePartProps): Saving & {
  change(to: (rules: readonly Rule[]) => Rule[], said: string, onSaved?: () => void): void;
} {
  const saving = useSaving();
  return {
    ...saving,
    change: (to, said, onSaved = () => undefined) =>
      void saving.save<SiteItem>({
        loaded: site,
        factsOf: ({ block_rules }) => ({ rules: block_rules.map(ruleText) }),
        kept: ({ block_rules }) => ({ rules: to(block_rules).map(ruleText) }),
        read: () => readSite(site.site_id),
        write: (base) => patchSite(base, { block_rules: to(base.block_rules) }),
        onSaved() {
          onSaved();
          toast(said);
          onChanged();
        },
        onTheirs: onChanged,
      }),
  };
}

/** Events that the edge drops. */
export function BlockRules(props: SitePartProps): VNode {
  const { site } = props;
  const rules = useRules(props);
  const mayChange = mayAt('block_rules.change', site.site_id);
  const remove = (rule: Rule): void =>
    rules.change((before) => before.filter((one) => !isSame(one, rule)), 'The rule was removed');
  return (
    <Panel title="Events that are dropped" note="The edge drops what any rule is about; dropped events are counted.">
      <div class="stack">
        {mayChange && <NewRule {...props} />}
        {rules.failure !== null && <FailureNote failure={rules.failure} />}
        <ConflictDialog saving={rules} what="the site" />
        <DataTable
          caption="Block rules"
          columns={columnsOf(mayChange, rules.isBusy, remove)}
          rows={site.block_rules}
          keyOf={({ kind, value, property }) => `${kind} ${property} ${value}`}
          csvName="block-rules"
          emptyText="Nothing is dropped"
        />
        {mayAt('query.aggregates', site.site_id) && (
          <p>
            <a href={addressOf(`/sites/${encodeURIComponent(site.site_id)}/refusals`)}>Events that were dropped</a>
          </p>
        )}
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
  const [kind, setKind] = useState<Rule['kind']>('ip');
  const [value, setValue] = useState('');
  const [property, setProperty] = useState('');
  const rules = useRules(props);
  const add = (event: Event): void => {
    event.preventDefault();
    const rule: Rule = { kind, value: value.trim(), property: kind === 'property' ? property.trim() : null };
    rules.change(
      (before) => [...before, rule],
      'The rule was added',
      () => setValue(''),
    );
  };
  return (
    <form class="stack" onSubmit={add}>
      <div class="form-row">
        <SelectField label="What" value={kind} onValue={(one) => setKind(one as Rule['kind'])} options={KINDS} />
        {kind === 'property' && <TextField label="Property" required value={property} onValue={setProperty} />}
        <TextField
          label="Value"
          required={kind !== 'property'}
          hint={KINDS.find((one) => one.value === kind)?.hint}
          problem={problemOf(rules.failure, 'block_rules')}
          value={value}
          onValue={setValue}
        />
      </div>
      {rules.failure !== null && rules.failure.problems.length === 0 && <FailureNote failure={rules.failure} />}
      <ConflictDialog saving={rules} what="the site" />
      <div class="actions">
        <button type="submit" class="button primary" disabled={rules.isBusy}>
          Add the rule
        </button>
      </div>
    </form>
  );
}
