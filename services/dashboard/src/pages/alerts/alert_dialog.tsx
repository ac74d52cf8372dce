import { isOfIntervals } from '#pipelines/alerts/alert_kinds.ts';
import type { TrendsQuery } from '#pipelines/analytics/trends/query.ts';
import type { AlertItem, FiredItem } from '#services/control_api/alerts.ts';
import type { DestinationItem } from '#services/control_api/destinations.ts';
import { type ApiError, type ApiResult, request, sitePath } from '../../api/request.ts';
import { useList, useMutation } from '../../api/use_answer.ts';
import { EditForm, RemoveButton, useEditForm, useSave } from '../../editing/editing.tsx';
import { intervalStart, timeZone } from '../../format.ts';
import { questionsPath, type SavedQuestion } from '../../questions/saved.ts';
import { mayAt } from '../../session.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, toast } from '../../ui/dialog.tsx';
import { CheckField, Problem, problemOf, SelectField, TextField, textFields } from '../../ui/form_fields.tsx';
import { FailureNote } from '../../ui/panel.tsx';
import {
  type AlertDraft,
  againstOf,
  alertOf,
  type ChannelDraft,
  conditionsOf,
  DRAFT_NAMES,
  draftOfAlert,
  fitted,
  intervalOptions,
  KIND_HINTS,
  KINDS,
  NEW_CHANNEL,
  NEW_DRAFT,
  switchedAlert,
} from './alert_form.ts';

interface AlertDialogProps {
  siteId: string;
  /** Null: a new one. */
  item: AlertItem | null;
  /** When the first interval is over that it can judge; null: it does not wait for one. */
  waitsUntil: number | null;
  taken: readonly string[];
  test(id: string): Promise<ApiResult<FiredItem>>;
  onChanged(): void;
  onTested(): void;
  onClose(): void;
}

const NEW_META = { version: '', changed_at: 0, changed_by: '' };
type Edited = AlertItem | typeof NEW_META;
const isThere = (one: Edited): one is AlertItem => 'id' in one;

export function AlertDialog(props: AlertDialogProps) {
  const { siteId, item, waitsUntil, taken, onChanged, onClose } = props;
  const path = sitePath(siteId, 'alerts', ...(item === null ? [] : [item.id]));
  const form = useEditForm<Edited, AlertDraft>({
    item: item ?? NEW_META,
    draftOf: (one) => (isThere(one) ? draftOfAlert(one) : NEW_DRAFT),
    // Of addresses nothing is known that could be compared.
    isBlind: ({ channels }) => channels.some(({ target, secret }) => target !== '' || secret !== ''),
    read: () => request('GET', path),
    write: (draft, base) =>
      isThere(base)
        ? request('PUT', path, { body: alertOf(draft, base, []), version: base.version })
        : request('POST', path, { body: alertOf(draft, null, taken) }),
    onSaved(saved) {
      toast(`Saved ${isThere(saved) ? saved.name : ''}`);
      onClose();
    },
    onDone: onChanged,
  });
  const mayChange = mayAt('alerts.change', siteId);
  return (
    <Dialog title={item === null ? 'New alert' : item.name} kind="side" isChanged={form.isChanged} onClose={onClose}>
      <div class="stack">
        {item?.enabled && waitsUntil !== null && (
          <p>
            Waiting for data: only whole intervals count that begin after it was made, changed or resumed. The first (
            {item.interval ?? 'day'}) ends {intervalStart(waitsUntil, 'hour', timeZone())}, {timeZone()}, and is judged{' '}
            {item.grace_minutes} minutes later.
          </p>
        )}
        <EditForm
          form={form}
          mayChange={mayChange}
          mayBeUnchanged={item === null}
          more={item === null ? null : <RemoveAlert {...props} item={item} path={path} />}
          what="this alert"
          names={DRAFT_NAMES}
        >
          <AlertFields siteId={siteId} draft={form.draft} failure={form.failure} onDraft={form.edit} />
        </EditForm>
        {item !== null && mayChange && <SwitchAndTest {...props} item={item} path={path} isUnsaved={form.isChanged} />}
      </div>
    </Dialog>
  );
}

type OfItem = AlertDialogProps & { item: AlertItem; path: string };

const RemoveAlert = ({ item, path, onChanged, onClose }: OfItem) => (
  <RemoveButton<AlertItem>
    item={item}
    name={item.name}
    what="this alert"
    names={DRAFT_NAMES}
    factsOf={(one) => ({ ...draftOfAlert(one) })}
    read={() => request('GET', path)}
    remove={({ version }) => request('DELETE', path, { version })}
    onRemoved={() => {
      onChanged();
      onClose();
    }}
    onTheirs={onChanged}
  >
    It tells nobody any more. What fired stays on the list.
  </RemoveButton>
);

function SwitchAndTest({ item, path, isUnsaved, test, onChanged, onTested }: OfItem & { isUnsaved: boolean }) {
  const saving = useSave();
  const testing = useMutation();
  const switchTo = (enabled: boolean): Promise<void> =>
    saving.save<AlertItem>({
      loaded: item,
      factsOf: (one) => ({ enabled: one.enabled }),
      kept: () => ({ enabled }),
      read: () => request('GET', path),
      write: (base) => request('PUT', path, { body: switchedAlert(base, enabled), version: base.version }),
      onSaved: () => toast(`${item.name} was ${enabled ? 'resumed' : 'paused'}`),
      onDone: onChanged,
    });
  return (
    <section class="stack-small" aria-label="Pause and test">
      <FailureNote failure={saving.failure} />
      <FailureNote failure={testing.failure} />
      <div class="row">
        <Button
          label={item.enabled ? 'Pause' : 'Resume'}
          disabled={saving.isBusy}
          onClick={() => switchTo(!item.enabled)}
        />
        <Button
          label="Send a test"
          disabled={testing.isBusy || isUnsaved}
          onClick={() =>
            testing.run(
              () => test(item.id),
              () => {
                toast('The test is being sent; “What fired” has its outcome');
                onTested();
              },
            )
          }
        />
      </div>
      <p class="hint">{isUnsaved ? 'Save first: a test goes to what is saved.' : 'A test goes to every channel.'}</p>
    </section>
  );
}

interface FieldsProps {
  siteId: string;
  draft: AlertDraft;
  failure: ApiError | null;
  onDraft(change: Partial<AlertDraft>): void;
}

function AlertFields(props: FieldsProps) {
  const { draft, failure, onDraft } = props;
  const field = textFields(draft, onDraft, failure);
  const fit = (change: Partial<AlertDraft>): void => onDraft(fitted(draft, change));
  return (
    <>
      <TextField label="Name" required placeholder="Few orders" {...field('name')} />
      <SelectField
        label="Watches"
        options={KINDS}
        value={draft.kind}
        hint={KIND_HINTS[draft.kind]}
        onValue={(kind) => fit({ kind: kind as AlertDraft['kind'] })}
      />
      {draft.kind === 'question' && <QuestionFields {...props} />}
      {draft.kind === 'match_quality' && <EventsField {...props} />}
      {draft.kind === 'destination_failing' && <DestinationField {...props} />}
      <ConditionFields {...props} fit={fit} />
      <fieldset class="stack">
        <legend class="strong">Tell</legend>
        {draft.channels.map((channel, at) => (
          <ChannelFields
            key={channel.id === '' ? `new ${at}` : channel.id}
            channel={channel}
            at={at}
            failure={failure}
            onChannel={(changed) => onDraft({ channels: draft.channels.with(at, changed) })}
            {...(draft.channels.length > 1 && {
              onRemove: () => onDraft({ channels: draft.channels.toSpliced(at, 1) }),
            })}
          />
        ))}
        {draft.channels.length < 5 && (
          <p>
            <Button
              kind="small"
              icon="plus"
              label="Add a channel"
              onClick={() => onDraft({ channels: [...draft.channels, NEW_CHANNEL] })}
            />
          </p>
        )}
      </fieldset>
      <details>
        <summary>When to tell</summary>
        <div class="stack">
          {isOfIntervals(draft.kind) && (
            <TextField
              label="Wait for late events, in minutes"
              inputMode="numeric"
              hint="After the end of an interval. Later events change nothing."
              {...field('grace', 'grace_minutes')}
            />
          )}
          <TextField
            label={isOfIntervals(draft.kind) ? 'Over after so many good intervals' : 'Over after so many good checks'}
            inputMode="numeric"
            hint="Until then it does not fire again."
            {...field('recoverAfter', 'recover_after')}
          />
          <CheckField
            label="Tell when it is over"
            checked={draft.notifyRecovery}
            onChecked={(notifyRecovery) => onDraft({ notifyRecovery })}
          />
          <CheckField
            label="Quiet hours"
            checked={draft.isQuiet}
            onChecked={(isQuiet) => onDraft({ isQuiet })}
            hint="In the site’s time zone. What fires then is sent when they end."
          />
          {draft.isQuiet && (
            <div class="form-row">
              <TextField label="Quiet from" placeholder="22:00" {...field('quietFrom', 'quiet_hours.from')} />
              <TextField label="Quiet until" placeholder="07:00" {...field('quietTo', 'quiet_hours.to')} />
            </div>
          )}
        </div>
      </details>
    </>
  );
}

const EventsField = ({ draft, failure, onDraft }: FieldsProps) => (
  <TextField
    label="Events (optional)"
    placeholder="purchase, sign_up"
    hint="Names with commas between; empty means every event."
    {...textFields(draft, onDraft, failure)('events')}
  />
);

/** A question of one figure: what an alert can watch of those that are saved. */
const isWatchable = ({ query, question }: SavedQuestion): boolean => {
  const { series = [], formulas = [] } = question as Partial<TrendsQuery>;
  return query === 'trends' && (formulas.length === 1 || (formulas.length === 0 && series.length === 1));
};

function QuestionFields(props: FieldsProps) {
  const { siteId, draft, failure, onDraft } = props;
  const saved = useList<SavedQuestion>(questionsPath(siteId));
  const watchable = (saved.value?.items ?? []).filter(isWatchable);
  const take = (id: string): void => {
    const question = watchable.find((one) => one.id === id)?.question as TrendsQuery | undefined;
    if (question === undefined) {
      onDraft({ asks: 'events' });
      return;
    }
    const { series, formulas, filters } = question;
    onDraft({
      asks: 'as_saved',
      question: { series, ...(formulas?.length && { formulas }), ...(filters?.length && { filters }) },
    });
  };
  const own = { value: '', label: 'Events by name' };
  const kept = { value: '=', label: 'The question as it is' };
  return (
    <>
      {(watchable.length > 0 || draft.asks === 'as_saved') && (
        <SelectField
          label="Question"
          options={[
            own,
            ...(draft.asks === 'as_saved' ? [kept] : []),
            ...watchable.map(({ id, name }) => ({ value: id, label: `Saved: ${name}` })),
          ]}
          value={draft.asks === 'as_saved' ? '=' : ''}
          hint="A saved question is copied: later changes of it change nothing here."
          problem={problemOf(failure, 'question')}
          onValue={take}
        />
      )}
      {draft.asks === 'events' && (
        <>
          <EventsField {...props} />
          <SelectField
            label="Counted are"
            options={[
              { value: 'events', label: 'Events' },
              { value: 'persons', label: 'Persons' },
            ]}
            value={draft.measure}
            onValue={(measure) => onDraft({ measure: measure as AlertDraft['measure'] })}
          />
        </>
      )}
    </>
  );
}

function DestinationField({ siteId, draft, onDraft }: FieldsProps) {
  const isSeen = mayAt('destinations.read', siteId);
  const { value } = useList<DestinationItem>(isSeen ? '/v1/admin/destinations' : null, { site_id: siteId });
  const names = new Set([
    ...(value?.items ?? []).map(({ name }) => name),
    ...(draft.destination === '' ? [] : [draft.destination]),
  ]);
  return (
    <SelectField
      label="Destination"
      options={[{ value: '', label: 'Any of the site' }, ...[...names].map((name) => ({ value: name, label: name }))]}
      value={draft.destination}
      onValue={(destination) => onDraft({ destination })}
    />
  );
}

function ConditionFields({ draft, failure, onDraft, fit }: FieldsProps & { fit(change: Partial<AlertDraft>): void }) {
  const field = textFields(draft, onDraft, failure);
  const { kind, is } = draft;
  if (kind === 'destination_failing') {
    return <TextField label="For so many minutes" inputMode="numeric" {...field('minutes', 'condition.minutes')} />;
  }
  const isChange = is === 'rose' || is === 'fell';
  const unit = kind === 'question' ? '' : ', in percent';
  return (
    <>
      <div class="form-row">
        {isOfIntervals(kind) && (
          <SelectField
            label="Interval"
            options={intervalOptions(kind)}
            value={draft.interval}
            problem={problemOf(failure, 'interval')}
            onValue={(interval) => fit({ interval: interval as AlertDraft['interval'] })}
          />
        )}
        <SelectField
          label="Condition"
          options={conditionsOf(kind)}
          value={is}
          problem={problemOf(failure, 'condition.is')}
          onValue={(chosen) => onDraft({ is: chosen as AlertDraft['is'] })}
        />
      </div>
      {(is === 'above' || is === 'below') && (
        <TextField label={`Threshold${unit}`} required inputMode="decimal" {...field('value', 'condition.value')} />
      )}
      {isChange && (
        <div class="form-row">
          <TextField label="Percent" required inputMode="decimal" {...field('percent', 'condition.percent')} />
          <SelectField
            label="Compared with"
            options={againstOf(draft)}
            value={draft.against}
            problem={problemOf(failure, 'condition.against')}
            onValue={(against) => onDraft({ against: against as AlertDraft['against'] })}
          />
        </div>
      )}
      <Problem text={problemOf(failure, 'condition')} />
      {is !== 'no_data' && isOfIntervals(kind) && (
        <TextField
          label="Only with at least so many events (optional)"
          inputMode="numeric"
          placeholder={isChange ? '10' : '0'}
          {...field('atLeast', 'condition.at_least')}
        />
      )}
    </>
  );
}

const CHANNEL_KINDS = [
  { value: 'email', label: 'E-mail' },
  { value: 'slack', label: 'Slack' },
  { value: 'webhook', label: 'Webhook' },
];
const TARGETS: Readonly<Record<ChannelDraft['kind'], { label: string; placeholder: string }>> = {
  email: { label: 'Address', placeholder: 'team@shop.example' },
  slack: { label: 'Incoming webhook URL', placeholder: 'https://hooks.slack.com/services/…' },
  webhook: { label: 'URL', placeholder: 'https://' },
};

interface ChannelFieldsProps {
  channel: ChannelDraft;
  at: number;
  failure: ApiError | null;
  onChannel(channel: ChannelDraft): void;
  onRemove?: () => void;
}

function ChannelFields({ channel, at, failure, onChannel, onRemove }: ChannelFieldsProps) {
  const { id, kind, shown, target, secret } = channel;
  const { label, placeholder } = TARGETS[kind];
  const place = `channels[${at}]`;
  const nth = `Channel ${at + 1}`;
  return (
    <fieldset class="stack-small" aria-label={nth}>
      <div class="form-row">
        {id === '' ? (
          <SelectField
            label={`${nth}: by`}
            options={CHANNEL_KINDS}
            value={kind}
            onValue={(chosen) =>
              onChannel({ ...channel, kind: chosen as ChannelDraft['kind'], target: '', secret: '' })
            }
          />
        ) : (
          <p>
            {CHANNEL_KINDS.find(({ value }) => value === kind)?.label}: <code>{shown}</code>
          </p>
        )}
        <TextField
          label={id === '' ? label : `${label} (unchanged where empty)`}
          placeholder={placeholder}
          required={id === ''}
          problem={problemOf(failure, `${place}.target`)}
          value={target}
          onValue={(text) => onChannel({ ...channel, target: text })}
        />
      </div>
      {kind === 'webhook' && (
        <TextField
          label={id === '' ? 'Signing secret (optional)' : 'Signing secret (unchanged where empty)'}
          placeholder="whsec_…"
          hint="Signs by Standard Webhooks."
          problem={problemOf(failure, `${place}.secret`)}
          value={secret}
          onValue={(text) => onChannel({ ...channel, secret: text })}
        />
      )}
      {onRemove !== undefined && (
        <p>
          <Button kind="small quiet" label={`Remove channel ${at + 1}`} onClick={onRemove} />
        </p>
      )}
    </fieldset>
  );
}
