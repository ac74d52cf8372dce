import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { DestinationItem } from '#services/control_api/destinations.ts';
import type { Answer } from '../../api/api_answer.ts';
import { request } from '../../api/request.ts';
import { ConflictDialog } from '../../editing/conflict_dialog.tsx';
import { RemoveButton } from '../../editing/remove_button.tsx';
import { useEditing } from '../../editing/use_editing.ts';
import { useSaving } from '../../editing/use_saving.ts';
import { place, setQuery } from '../../router.ts';
import { Badge } from '../../ui/badge.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { toast } from '../../ui/toast.tsx';
import { DestinationAttempts } from './destination_attempts.tsx';
import { DestinationHealth } from './destination_health.tsx';
import { type DestinationDialogProps, destinationPath } from './destination_place.ts';
import { STATES, stateSentence } from './destination_rows.ts';
import { SendTest } from './send_test.tsx';
import { SettingFields } from './setting_fields.tsx';
import { changeOf, type Draft, draftOf, type Kind, settingFields } from './setting_form.ts';

/** One destination: how it does and what to do about that, and its settings. */
export function DestinationDialog(props: DestinationDialogProps): VNode {
  const { row, onClose } = props;
  const view = place.value.query.get('view') ?? 'health';
  const [isUnsaved, setUnsaved] = useState(false);
  return (
    <Dialog title={row.title} kind="side" isChanged={isUnsaved} onClose={onClose}>
      <div class="stack">
        <p class="row">
          <Badge kind={STATES[row.state].badge}>{STATES[row.state].label}</Badge>
          <span class="muted">{stateSentence(row)}</span>
        </p>
        <Tabs
          label="Of the destination"
          chosen={view}
          onChosen={(id) => setQuery({ view: id })}
          tabs={[
            { id: 'health', label: 'Health', content: () => <DestinationHealth {...props} /> },
            { id: 'attempts', label: 'Attempts', content: () => <DestinationAttempts {...props} /> },
            {
              ...{ id: 'settings', label: 'Settings', keeps: true },
              content: () => <SettingsTab {...props} onUnsaved={setUnsaved} />,
            },
            ...(props.mayChange
              ? [
                  {
                    ...{ id: 'test', label: 'Test event', keeps: true },
                    content: () => <SendTest {...props} isUnsaved={isUnsaved} />,
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
  /** Says whether there are changes that are not saved. */
  onUnsaved(isUnsaved: boolean): void;
}

function SettingsTab({ kind, ...rest }: SettingsTabProps): VNode {
  // What is not known must not look as if it were empty.
  if (kind === undefined) return <p class="muted">What this kind of destination takes is not known now.</p>;
  return <SettingsForm kind={kind} {...rest} />;
}

function SettingsForm({
  siteId,
  row,
  kind,
  mayChange,
  onChanged,
  onUnsaved,
}: SettingsTabProps & { kind: Kind }): VNode {
  const { item } = row;
  const fields = settingFields(kind);
  const path = destinationPath(siteId, item.name);
  const form = useEditing<DestinationItem, Draft>({
    item,
    draftOf: (one) => draftOf(fields, one),
    // Of secrets nothing is known that could be compared.
    isBlind: (draft) => changeOf(fields, draft, item).secrets !== undefined,
    read: () => request('GET', path),
    write: (draft, base) => request('PATCH', path, { body: changeOf(fields, draft, base), version: base.version }),
    onSaved() {
      toast(`Saved the settings of ${row.title}`);
      onChanged();
    },
    onTheirs: onChanged,
  });
  const { isChanged } = form;
  useEffect(() => onUnsaved(isChanged), [isChanged]);
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void form.save();
      }}
    >
      <fieldset class="stack" disabled={!mayChange}>
        <SettingFields
          fields={fields}
          draft={form.draft}
          stored={item.secrets}
          failure={form.failure}
          onDraft={form.edit}
        />
      </fieldset>
      {form.failure !== null && <FailureNote failure={form.failure} />}
      {mayChange && (
        <div class="actions spread">
          <SwitchAndRemove siteId={siteId} row={row} onChanged={onChanged} />
          <button type="submit" class="button primary" disabled={!isChanged || form.isBusy}>
            Save
          </button>
        </div>
      )}
      <ConflictDialog
        saving={form}
        what="this destination"
        names={Object.fromEntries(fields.map(({ name, title }) => [name, title]))}
      />
    </form>
  );
}

function SwitchAndRemove({
  siteId,
  row,
  onChanged,
}: Pick<DestinationDialogProps, 'siteId' | 'row' | 'onChanged'>): VNode {
  const { item, title } = row;
  const [asks, setAsks] = useState(false);
  const saving = useSaving();
  const path = destinationPath(siteId, item.name);
  const read = (): Promise<Answer<DestinationItem>> => request('GET', path);
  const switchTo = (enabled: boolean): Promise<void> =>
    saving.save<DestinationItem>({
      loaded: item,
      factsOf: (one) => ({ enabled: one.enabled }),
      kept: () => ({ enabled }),
      read,
      write: ({ version }) => request('PATCH', path, { body: { enabled }, version }),
      onSaved() {
        setAsks(false);
        toast(`${title} is switched ${enabled ? 'on' : 'off'}`);
        onChanged();
      },
      onTheirs() {
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
        Its settings and secrets are gone for good. What was delivered stays where it is.
      </RemoveButton>
      <button type="button" class="button" onClick={() => (item.enabled ? setAsks(true) : void switchTo(true))}>
        {item.enabled ? 'Switch off' : 'Switch on'}
      </button>
      {saving.failure !== null && !asks && <FailureNote failure={saving.failure} />}
      {asks && (
        <Confirm
          title={`Switch ${title} off?`}
          action="Switch off"
          isDangerous
          isBusy={saving.isBusy}
          onConfirm={() => void switchTo(false)}
          onClose={() => setAsks(false)}
        >
          <p>
            Events are not sent to it until it is switched on again. Those of that time can be sent later by a replay.
          </p>
          {saving.failure !== null && <FailureNote failure={saving.failure} />}
        </Confirm>
      )}
      <ConflictDialog saving={saving} what="this destination" names={NAMES} />
    </>
  );
}

const NAMES = { enabled: 'Switched on', secrets: 'Secrets that are stored' };
