import { useEffect, useState } from 'preact/hooks';
import { RETRY_DELAYS } from '#pipelines/delivery/retry_topics.ts';
import { randomSigningSecret } from '#pipelines/settings/secrets.ts';
import type { DestinationItem, HealthItem } from '#services/control_api/destinations.ts';
import { type ApiError, type ApiResult, request } from '../../api/request.ts';
import { useMutation } from '../../api/use_answer.ts';
import { ConflictDialog, EditForm, RemoveButton, useEditForm, useSave } from '../../editing/editing.tsx';
import { ago, dateTime, events, number, span } from '../../format.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm, Dialog, toast } from '../../ui/dialog.tsx';
import { problemOf, SelectField, TextField } from '../../ui/form_fields.tsx';
import { CopyButton } from '../../ui/identifiers.tsx';
import { Bars, Facts, FailureNote, StateBadge, Tabs } from '../../ui/panel.tsx';
import {
  DestinationAttempts,
  type DestinationDialogProps,
  deadLettersAddress,
  destinationPath,
  replayAddress,
  SendTest,
  WHY_SKIPPED,
} from './delivery_attempts.tsx';
import { adviceFor, failedText, STATES, skippedTotal, stateSentence } from './destination_rows.ts';
import { RulesForm } from './rules_form.tsx';
import { changeOf, type Draft, draftOf, type Kind, type SettingField, settingFields } from './setting_form.ts';

export function DestinationDialog(props: DestinationDialogProps) {
  const { row, onClose } = props;
  const view = currentLocation.value.query.get('view') ?? 'health';
  const [isUnsaved, setUnsaved] = useState(false);
  const [hasUnsavedRules, setUnsavedRules] = useState(false);
  return (
    <Dialog title={row.title} kind="side" isChanged={isUnsaved || hasUnsavedRules} onClose={onClose}>
      <div class="stack">
        <p class="row">
          <StateBadge of={STATES[row.state]} />
          <span class="muted">{stateSentence(row)}</span>
        </p>
        <Tabs
          label="Destination"
          chosen={view}
          onChosen={(id) => setQuery({ view: id })}
          tabs={[
            { id: 'health', label: 'Health', content: () => <DestinationHealth {...props} /> },
            { id: 'attempts', label: 'Attempts', content: () => <DestinationAttempts {...props} /> },
            {
              ...{ id: 'settings', label: 'Settings', keeps: true },
              content: () =>
                // What is not known must not look as if it were empty.
                props.kind === undefined ? (
                  <p class="muted">The settings of this destination are unavailable.</p>
                ) : (
                  <SettingsForm {...props} kind={props.kind} onUnsaved={setUnsaved} />
                ),
            },
            {
              ...{ id: 'rules', label: 'Rules', keeps: true },
              content: () => <RulesForm {...props} onUnsaved={setUnsavedRules} />,
            },
            ...(props.mayChange
              ? [
                  {
                    ...{ id: 'test', label: 'Test event', keeps: true },
                    content: () => <SendTest {...props} isUnsaved={isUnsaved || hasUnsavedRules} />,
                  },
                ]
              : []),
          ]}
        />
      </div>
    </Dialog>
  );
}

interface SettingsTabProps extends DestinationDialogProps {
  onUnsaved(isUnsaved: boolean): void;
}

function SettingsForm(props: SettingsTabProps & { kind: Kind }) {
  const { siteId, row, kind, mayChange, onChanged, onUnsaved } = props;
  const { item } = row;
  const fields = settingFields(kind);
  const path = destinationPath(siteId, item.name);
  const form = useEditForm<DestinationItem, Draft>({
    item,
    draftOf: (one) => draftOf(fields, one),
    // Of secrets nothing is known that could be compared.
    isBlind: (draft) => changeOf(fields, draft, item).secrets !== undefined,
    read: () => request('GET', path),
    write: (draft, base) => request('PATCH', path, { body: changeOf(fields, draft, base), version: base.version }),
    said: `Saved the settings of ${row.title}`,
    onDone: onChanged,
  });
  const { isChanged } = form;
  useEffect(() => onUnsaved(isChanged), [isChanged]);
  return (
    <EditForm
      form={form}
      mayChange={mayChange}
      more={<SwitchAndRemove siteId={siteId} row={row} onChanged={onChanged} />}
      what="this destination"
      names={Object.fromEntries(fields.map(({ name, title }) => [name, title]))}
    >
      <SettingFields
        fields={fields}
        draft={form.draft}
        stored={item.secrets}
        failure={form.failure}
        onDraft={form.edit}
      />
    </EditForm>
  );
}

function SwitchAndRemove(props: Pick<DestinationDialogProps, 'siteId' | 'row' | 'onChanged'>) {
  const { siteId, row, onChanged } = props;
  const { item, title } = row;
  const [asks, setAsks] = useState(false);
  const saving = useSave();
  const path = destinationPath(siteId, item.name);
  const read = (): Promise<ApiResult<DestinationItem>> => request('GET', path);
  const switchTo = (enabled: boolean): Promise<void> =>
    saving.save<DestinationItem>({
      loaded: item,
      factsOf: (one) => ({ enabled: one.enabled }),
      kept: () => ({ enabled }),
      read,
      write: ({ version }) => request('PATCH', path, { body: { enabled }, version }),
      onSaved: () => toast(`${title} was ${enabled ? 'enabled' : 'disabled'}`),
      onDone() {
        setAsks(false);
        onChanged();
      },
    });
  return (
    <>
      <RemoveButton
        item={item}
        name={title}
        what="this destination"
        names={NAMES}
        factsOf={({ enabled, secrets, settings }) => ({ enabled, secrets, ...settings })}
        read={read}
        remove={({ version }) => request('DELETE', path, { version })}
        onRemoved={onChanged}
        onTheirs={onChanged}
      >
        Its settings and secrets are deleted permanently. Delivered events are not affected.
      </RemoveButton>
      <Button
        label={item.enabled ? 'Disable' : 'Enable'}
        onClick={() => (item.enabled ? setAsks(true) : void switchTo(true))}
      />
      {saving.failure !== null && !asks && <FailureNote failure={saving.failure} />}
      {asks && (
        <Confirm
          title={`Disable ${title}?`}
          action="Disable"
          isBusy={saving.isBusy}
          onConfirm={() => void switchTo(false)}
          onClose={() => setAsks(false)}
        >
          <p>No events are sent to it until it is enabled again. Missed events can be sent later by a replay.</p>
          <FailureNote failure={saving.failure} />
        </Confirm>
      )}
      <ConflictDialog saving={saving} what="this destination" names={NAMES} />
    </>
  );
}

const NAMES = { enabled: 'Enabled', secrets: 'Stored secrets' };

/** After a failure an event waits for longer each time. */
const WAITS = new Intl.ListFormat('en-GB').format(RETRY_DELAYS.map(({ delayMs }) => span(delayMs)));

function waitingText(waiting: number, waitsForSettings: boolean): string {
  if (waiting === 0) return 'None';
  return waitsForSettings
    ? `${events(waiting)}, sent once the settings are corrected`
    : `${events(waiting)}, retried automatically ${WAITS} after the last attempt`;
}

/** What waits is tried again by itself; whoever has repaired the destination need not wait for that. */
function RetryNow({ siteId, row, onChanged }: Pick<DestinationDialogProps, 'siteId' | 'row' | 'onChanged'>) {
  const action = useMutation();
  const path = `${destinationPath(siteId, row.item.name)}/retry`;
  const retry = () =>
    action.run(
      () => request<DestinationItem>('POST', path, { body: {} }),
      () => {
        toast('What waits is being sent; it takes up to a few minutes');
        onChanged();
      },
    );
  return (
    <div class="stack-small">
      <p>
        <Button label="Retry now" disabled={action.isBusy} onClick={retry} />
      </p>
      <FailureNote failure={action.failure} />
    </div>
  );
}

function DestinationHealth({ siteId, row, mayChange, onChanged }: DestinationDialogProps) {
  const { health, lacks, state, item } = row;
  if (health === null) return <p class="muted">{STATES[lacks].sentence}</p>;
  const isWrong = state === 'failing' || state === 'waits_for_settings';
  const reason = health.reason === '' ? health.failed_reason : health.reason;
  return (
    <div class="stack">
      {isWrong && (
        <div class={`note ${state === 'failing' ? 'note-bad' : 'note-warn'}`}>
          <div>
            <p>
              <code>{reason}</code>
            </p>
            <p>{adviceFor(reason, state === 'waits_for_settings')}</p>
          </div>
        </div>
      )}
      <Facts
        facts={[
          ['Delivered', `${number(health.delivered)} in the last 24 hours, of ${number(health.attempts)} attempts`],
          ['Waiting', waitingText(health.waiting, state === 'waits_for_settings')],
          ['Failed', <Failed siteId={siteId} name={item.name} health={health} />],
          ['Call duration', percentiles(health.took_ms, health.attempts)],
          ['Delay since arrival', percentiles(health.age_ms, health.delivered)],
          ['Last delivered', health.delivered_at === null ? 'Not in the last 24 hours' : moment(health.delivered_at)],
          health.failed_at !== null && [
            'Last error',
            <>
              <code>{health.failed_reason}</code>, {moment(health.failed_at)}
            </>,
          ],
        ]}
      />
      {mayChange && item.enabled && health.waiting > 0 && <RetryNow {...{ siteId, row, onChanged }} />}
      <Skipped skipped={health.skipped} total={skippedTotal(health)} />
    </div>
  );
}

function Failed({ siteId, name, health }: { siteId: string; name: string; health: HealthItem }) {
  const hasFailed = health.failed > 0;
  return (
    <>
      {failedText(health)}{' '}
      {hasFailed && mayAt('dead_letters.read', siteId) && <a href={deadLettersAddress(siteId, name)}>See why</a>}{' '}
      {hasFailed && mayAt('replays.change', siteId) && <a href={replayAddress(siteId, name)}>Replay them</a>}
    </>
  );
}

const percentiles = ({ p50, p99 }: HealthItem['took_ms'], count: number): string =>
  count === 0 ? '–' : `Median ${span(p50)}, 99th percentile ${span(p99)}`;

const moment = (ms: number): string => `${ago(ms, Date.now())} (${dateTime(ms)})`;

function Skipped({ skipped, total }: { skipped: Readonly<Record<string, number>>; total: number }) {
  if (total === 0) return null;
  const reasons = Object.entries(skipped).sort(([, a], [, b]) => b - a);
  return (
    <section aria-labelledby="skipped">
      <h3 id="skipped">Skipped</h3>
      <Bars
        bars={reasons.map(([reason, count]) => ({
          key: reason,
          share: count / total,
          count,
          name: (
            <span>
              <code>{reason}</code>
              {WHY_SKIPPED[reason] !== undefined && <span class="muted small"> {WHY_SKIPPED[reason]}</span>}
            </span>
          ),
        }))}
      />
    </section>
  );
}

interface SettingFieldsProps {
  fields: readonly SettingField[];
  draft: Draft;
  stored: readonly string[];
  failure: ApiError | null;
  onDraft(draft: Draft): void;
}

/** The fields of a destination's settings: what must be given first, and the rest folded away. */
export function SettingFields({ fields, ...rest }: SettingFieldsProps) {
  const first = fields.filter(({ isNeeded }) => isNeeded);
  const others = fields.filter(({ isNeeded }) => !isNeeded);
  const hasProblem = others.some(({ name }) => problemOf(rest.failure, name) !== '');
  return (
    <>
      {first.map((field) => (
        <OneField key={field.name} field={field} {...rest} />
      ))}
      {others.length > 0 && (
        <details open={first.length === 0 || hasProblem}>
          <summary>{others.length === 1 ? '1 more setting' : `${others.length} more settings`}</summary>
          <div class="stack">
            {others.map((field) => (
              <OneField key={field.name} field={field} {...rest} />
            ))}
          </div>
        </details>
      )}
    </>
  );
}

function OneField(props: Omit<SettingFieldsProps, 'fields'> & { field: SettingField }) {
  const { field, draft, stored, failure, onDraft } = props;
  const { name, title, description, choices, isSecret, isSigning, isNeeded, usual, isLong } = field;
  const isStored = stored.includes(name);
  const common = {
    label: isNeeded ? title : `${title} (optional)`,
    problem: problemOf(failure, name),
    value: draft[name] ?? '',
    onValue: (value: string) => onDraft({ ...draft, [name]: value }),
  };
  if (choices !== null) {
    const options = choices.map((value) => ({ value, label: value }));
    return <SelectField {...common} hint={description} options={options} />;
  }
  const placeholder = isSecret && isStored ? 'Stored. Type to replace it.' : usual;
  const text = (
    <TextField
      {...common}
      hint={isSecret ? `${description} Stored encrypted and never shown again.`.trim() : description}
      // A secret that is made here has to be taken from here to the receiver.
      type={isSecret && !isLong && !isSigning ? 'password' : 'text'}
      autocomplete="off"
      required={isNeeded && !(isSecret && isStored)}
      lines={isLong ? 3 : 1}
      {...(placeholder !== '' && { placeholder })}
    />
  );
  if (!isSigning) return text;
  return (
    <div class="stack-small">
      {text}
      <p class="row">
        <Button
          kind="small"
          label="Generate secret"
          onClick={() => common.onValue(randomSigningSecret((bytes) => crypto.getRandomValues(new Uint8Array(bytes))))}
        />
        {common.value !== '' && <CopyButton text={common.value} what="signing secret" />}
      </p>
    </div>
  );
}
