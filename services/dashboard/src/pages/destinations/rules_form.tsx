import { useEffect, useState } from 'preact/hooks';
import { RULES_MAX } from '#pipelines/delivery/destination_id.ts';
import type { DestinationItem, PreviewAnswer, PreviewItem } from '#services/control_api/destinations.ts';
import { type ApiError, request } from '../../api/request.ts';
import { useMutation } from '../../api/use_answer.ts';
import { EditForm, useEditForm } from '../../editing/editing.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { type Column, DataTable, timeColumn } from '../../ui/data_table.tsx';
import { SelectField, TextField, textFields } from '../../ui/form_fields.tsx';
import { EventLink } from '../../ui/identifiers.tsx';
import { FailureNote } from '../../ui/panel.tsx';
import { type DestinationDialogProps, destinationPath, WHY_SKIPPED } from './delivery_attempts.tsx';
import { moved, NEW_RULE, type RuleDraft, ruleDrafts, rulesOf } from './rule_drafts.ts';

interface RulesTabProps extends DestinationDialogProps {
  onUnsaved(isUnsaved: boolean): void;
}

export function RulesForm({ siteId, row, mayChange, onChanged, onUnsaved }: RulesTabProps) {
  const { item, title } = row;
  const path = destinationPath(siteId, item.name);
  const form = useEditForm<DestinationItem, { rules: readonly RuleDraft[] }>({
    item,
    draftOf: ({ rules }) => ({ rules: ruleDrafts(rules) }),
    read: () => request('GET', path),
    write: ({ rules }, base) => request('PATCH', path, { body: { rules: rulesOf(rules) }, version: base.version }),
    said: `Saved the rules of ${title}`,
    onDone: onChanged,
  });
  const { isChanged, draft } = form;
  const { rules } = draft;
  useEffect(() => onUnsaved(isChanged), [isChanged]);
  const setRules = (changed: readonly RuleDraft[]): void => form.edit({ rules: changed });
  return (
    <div class="stack">
      <p class="muted">
        The first rule that fits an event decides; without one it is sent as it is. A pixel in the browser follows no
        rules.
      </p>
      <EditForm form={form} mayChange={mayChange} what="this destination" names={{ rules: 'Rules' }}>
        {rules.map((rule, at) => (
          <RuleFields
            key={at}
            rule={rule}
            at={at}
            isLast={at === rules.length - 1}
            failure={form.failure}
            onRule={(change) => setRules(rules.with(at, { ...rule, ...change }))}
            onMove={(by) => setRules(moved(rules, at, by))}
            onRemove={() => setRules(rules.toSpliced(at, 1))}
          />
        ))}
        {rules.length < RULES_MAX && (
          <p>
            <Button kind="small" icon="plus" label="Add a rule" onClick={() => setRules([...rules, NEW_RULE])} />
          </p>
        )}
      </EditForm>
      <Preview siteId={siteId} path={`${path}/rules/preview`} rules={rules} />
    </div>
  );
}

interface RuleFieldsProps {
  rule: RuleDraft;
  at: number;
  isLast: boolean;
  failure: ApiError | null;
  onRule(change: Partial<RuleDraft>): void;
  onMove(by: 1 | -1): void;
  onRemove(): void;
}

const ACTIONS = [
  { value: 'send', label: 'Send' },
  { value: 'skip', label: 'Do not send' },
];

function RuleFields({ rule, at, isLast, failure, onRule, onMove, onRemove }: RuleFieldsProps) {
  const field = textFields(rule, onRule, failure);
  const nth = `Rule ${at + 1}`;
  const inBody = (name: string): string => `rules[${at}].${name}`;
  return (
    <fieldset class="stack-small">
      <legend class="strong">{nth}</legend>
      <div class="form-row">
        <TextField
          label="Events"
          placeholder="purchase, checkout_*"
          hint="Names with commas between (\, is a comma), * for any text; empty means every event."
          {...field('events', inBody('events'))}
        />
        <SelectField label="Action" options={ACTIONS} {...field('action')} />
      </div>
      {rule.action === 'send' && (
        <div class="form-row">
          <TextField
            label="Under the name (optional)"
            placeholder="generate_lead"
            {...field('renameTo', inBody('rename_to'))}
          />
          <TextField
            label="Without properties (optional)"
            placeholder="email, utm_*, items.price"
            {...field('drop', inBody('drop_properties'))}
          />
        </div>
      )}
      <p class="row">
        <IconButton isSmall icon="up" label={`Move rule ${at + 1} up`} disabled={at === 0} onClick={() => onMove(-1)} />
        <IconButton
          isSmall
          icon="down"
          label={`Move rule ${at + 1} down`}
          disabled={isLast}
          onClick={() => onMove(1)}
        />
        <Button kind="small quiet" label={`Remove rule ${at + 1}`} onClick={onRemove} />
      </p>
    </fieldset>
  );
}

/** What was asked, so that it is seen whether an answer is of the rules as they are by now. */
interface Previewed {
  rules: readonly RuleDraft[];
  items: readonly PreviewItem[];
}

function Preview({ siteId, path, rules }: { siteId: string; path: string; rules: readonly RuleDraft[] }) {
  const [shown, setShown] = useState<Previewed | null>(null);
  const action = useMutation();
  const ask = () =>
    action.run(
      () => request<PreviewAnswer>('POST', path, { body: { rules: rulesOf(rules) } }),
      ({ items }) => setShown({ rules, items }),
    );
  return (
    <section class="stack" aria-labelledby="rules-preview">
      <h3 id="rules-preview">Preview</h3>
      <p class="row">
        <Button label="Preview on the newest events" disabled={action.isBusy} onClick={ask} />
        {shown !== null && shown.rules !== rules && <span class="muted">The rules have changed since.</span>}
      </p>
      <FailureNote failure={action.failure} />
      <div role="status">
        {shown !== null && (
          <DataTable
            caption="What would be sent"
            rows={shown.items}
            columns={columnsOf(siteId)}
            keyOf={({ event_id }) => event_id}
            csvName="rules-preview"
            emptyText="No events in the last seven days"
          />
        )}
      </div>
    </section>
  );
}

const outcomeText = ({ sent_as, skipped, event }: PreviewItem): string => {
  if (sent_as === null) return `Not sent: ${WHY_SKIPPED[skipped] ?? skipped}`;
  return sent_as === event ? 'Sent' : `Sent as ${sent_as}`;
};

const columnsOf = (siteId: string): readonly Column<PreviewItem>[] => [
  {
    ...{ id: 'event', title: 'Event', value: ({ event }) => event },
    cell: ({ event, event_id }) => (
      <EventLink siteId={siteId} eventId={event_id}>
        {event}
      </EventLink>
    ),
  },
  { id: 'outcome', title: 'Outcome', value: outcomeText },
  { id: 'rule', title: 'Rule', align: 'end', value: ({ rule }) => (rule === null ? '–' : rule + 1) },
  { id: 'dropped', title: 'Without', value: ({ dropped }) => dropped.join(', ') || '–' },
  timeColumn('received', 'Received', ({ received_at }) => received_at),
];
