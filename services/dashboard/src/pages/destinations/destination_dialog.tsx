import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { DestinationItem } from '#services/control_api/destination_shapes.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { place, setQuery } from '../../router.ts';
import { Badge } from '../../ui/badge.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { toast } from '../../ui/toast.tsx';
import { DestinationAttempts } from './destination_attempts.tsx';
import { DestinationHealth } from './destination_health.tsx';
import { type DestinationDialogProps, destinationPath } from './destination_place.ts';
import { STATES } from './destination_rows.ts';
import { SendTest } from './send_test.tsx';
import { SettingFields } from './setting_fields.tsx';
import { changeOf, draftOf, type Kind, settingFields } from './setting_form.ts';

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
          <span class="muted">{STATES[row.state].sentence}</span>
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
  const [draft, setDraft] = useState(() => draftOf(fields, item));
  const action = useAction();
  const change = changeOf(fields, draft, item);
  const isChanged = Object.keys(change).length > 0;
  useEffect(() => onUnsaved(isChanged), [isChanged]);
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    const saved = await action.run(() =>
      request<DestinationItem>('PATCH', destinationPath(siteId, item.name), { body: change, version: item.version }),
    );
    if (saved === null) return;
    toast(`Saved the settings of ${row.title}`);
    onChanged();
  };
  return (
    <form class="stack" onSubmit={(event) => void save(event)}>
      <fieldset class="stack" disabled={!mayChange}>
        <SettingFields
          fields={fields}
          draft={draft}
          stored={item.secrets}
          failure={action.failure}
          onDraft={setDraft}
        />
      </fieldset>
      {action.failure !== null && <FailureNote failure={action.failure} />}
      {mayChange && (
        <div class="actions spread">
          <SwitchAndRemove siteId={siteId} row={row} onChanged={onChanged} />
          <button type="submit" class="button primary" disabled={!isChanged || action.isBusy}>
            Save
          </button>
        </div>
      )}
    </form>
  );
}

function SwitchAndRemove({
  siteId,
  row,
  onChanged,
}: Pick<DestinationDialogProps, 'siteId' | 'row' | 'onChanged'>): VNode {
  const { item, title } = row;
  const [asks, setAsks] = useState<'off' | 'remove' | null>(null);
  const action = useAction();
  const path = destinationPath(siteId, item.name);
  const end = async (method: 'PATCH' | 'DELETE', said: string, body?: object): Promise<void> => {
    const options = { version: item.version, ...(body !== undefined && { body }) };
    const ended = await action.run(() => request<DestinationItem>(method, path, options));
    if (ended === null) return;
    setAsks(null);
    toast(said);
    onChanged();
  };
  const switchTo = (enabled: boolean): Promise<void> =>
    end('PATCH', `${title} is switched ${enabled ? 'on' : 'off'}`, { enabled });
  return (
    <>
      <button type="button" class="button danger" onClick={() => setAsks('remove')}>
        Remove
      </button>
      <button type="button" class="button" onClick={() => (item.enabled ? setAsks('off') : void switchTo(true))}>
        {item.enabled ? 'Switch off' : 'Switch on'}
      </button>
      {action.failure !== null && asks === null && <FailureNote failure={action.failure} />}
      {asks !== null && (
        <Confirm
          title={asks === 'off' ? `Switch ${title} off?` : `Remove ${title}?`}
          action={asks === 'off' ? 'Switch off' : 'Remove'}
          isDangerous
          isBusy={action.isBusy}
          onConfirm={() =>
            void (asks === 'off' ? switchTo(false) : end('DELETE', `${title} was removed, with its secrets`))
          }
          onClose={() => setAsks(null)}
        >
          <p>
            {asks === 'off'
              ? 'Events are not sent to it until it is switched on again. Those of that time can be sent later by a replay.'
              : 'Its settings and secrets are gone for good. What was delivered stays where it is.'}
          </p>
          {action.failure !== null && <FailureNote failure={action.failure} />}
        </Confirm>
      )}
    </>
  );
}
