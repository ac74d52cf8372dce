import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { MadeAnalyst } from '#services/control_api/queries.ts';
import { request } from '../../api/request.ts';
import { useAction } from '../../api/use_action.ts';
import { sites } from '../../site_list.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { FormActions } from '../../ui/form_actions.tsx';
import { CheckField, problemOf, SelectField, TextField } from '../../ui/form_fields.tsx';
import { IssuedSecret } from '../../ui/secret_once.tsx';
import { FailureNote } from '../../ui/states.tsx';
import { mayAt } from '../../who.ts';
import { DAYS, endAfter, LIFETIMES } from './token_form.ts';

/** Makes a user of ClickHouse, whose password is shown once. */
export function MakeAnalyst({ onMade, onClose }: { onMade(): void; onClose(): void }): VNode {
  const [id, setId] = useState('');
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [days, setDays] = useState(DAYS);
  const [made, setMade] = useState<MadeAnalyst | null>(null);
  const action = useAction();
  const mine = (sites.value ?? []).filter(({ site_id }) => mayAt('tokens.manage', site_id));
  const make = async (event: Event): Promise<void> => {
    event.preventDefault();
    const body = { analyst_id: id.trim(), site_ids: chosen, expires_at: endAfter(days, Date.now()) };
    const answer = await action.run(() => request<MadeAnalyst>('POST', '/v1/admin/analysts', { body }));
    if (answer === null) return;
    setMade(answer);
    onMade();
  };
  if (made !== null) {
    return (
      <IssuedSecret
        title={`The user ${made.analyst.clickhouse_user} was made`}
        secret={made.password}
        what="password"
        onClose={onClose}
      >
        <p>
          It logs in to ClickHouse as <code>{made.analyst.clickhouse_user}</code>, and finds the tables in the database
          of the same name.
        </p>
      </IssuedSecret>
    );
  }
  return (
    <Dialog
      title="Make a user of ClickHouse"
      isChanged={id !== '' || chosen.length > 0 || days !== DAYS}
      onClose={onClose}
    >
      <form class="stack" onSubmit={(event) => void make(event)}>
        <TextField
          label="Id"
          required
          hint="Whose it is, or what tool’s: up to 32 of a-z, 0-9 and -"
          problem={problemOf(action.failure, 'analyst_id')}
          value={id}
          onValue={setId}
        />
        <fieldset class="stack-small">
          <legend>Reads the sites</legend>
          {mine.map(({ site_id }) => (
            <CheckField
              key={site_id}
              label={site_id}
              checked={chosen.includes(site_id)}
              onChecked={(isChosen) =>
                setChosen(isChosen ? [...chosen, site_id] : chosen.filter((one) => one !== site_id))
              }
            />
          ))}
        </fieldset>
        <SelectField label="Ends after" options={LIFETIMES} value={days} onValue={setDays} />
        {action.failure !== null && <FailureNote failure={action.failure} />}
        <FormActions action="Make" disabled={action.isBusy || chosen.length === 0} onClose={onClose} />
      </form>
    </Dialog>
  );
}
