import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { AnalystItem, AnalystsAnswer } from '#services/control_api/queries.ts';
import type { UserItem } from '#services/control_api/users.ts';
import type { Answer, Failure } from '../../api/api_answer.ts';
import { request } from '../../api/request.ts';
import { askedWhere, useAnswer } from '../../api/use_answer.ts';
import { FailureNote, Shown } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { mayAt } from '../../who.ts';

const base = '/v1/admin/analysts';

/** The users of ClickHouse that a user made, whose passwords they may know: those log in whoever is disabled. */
export function MemberAnalysts({ member: { user_id, disabled_at } }: { member: UserItem }): VNode | null {
  const managesTokens = mayAt('tokens.manage', null);
  const asked = useAnswer(
    // What was issued may end with who is disabled.
    `${user_id} ${managesTokens} ${disabled_at}`,
    askedWhere(managesTokens, (signal) => madeBy(user_id, signal)),
  );
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isBusy, setBusy] = useState(false);
  if (asked.value === null && asked.failure === null) return null;
  const revoke = async (analysts: readonly AnalystItem[]): Promise<void> => {
    setBusy(true);
    const refused = await revokeAll(analysts);
    setFailure(refused);
    setBusy(false);
    if (refused === null) toast(`The users of ClickHouse that ${user_id} made were revoked`);
    asked.again();
  };
  return (
    <section class="stack-small" aria-labelledby="member-analysts">
      <h3 id="member-analysts">Users of ClickHouse they made</h3>
      {failure !== null && <FailureNote failure={failure} />}
      <Shown asked={asked} lines={1}>
        {(analysts) =>
          analysts === null || analysts.length === 0 ? (
            <p class="muted">None</p>
          ) : (
            <>
              <ul class="lines">
                {analysts.map(({ analyst_id, clickhouse_user, site_ids }) => (
                  <li key={analyst_id}>
                    <code>{clickhouse_user}</code>
                    <span class="muted small">reads {site_ids.join(', ')}</span>
                  </li>
                ))}
              </ul>
              {disabled_at !== null && (
                <div class="actions">
                  <button type="button" class="button danger" disabled={isBusy} onClick={() => void revoke(analysts)}>
                    Revoke these users
                  </button>
                </div>
              )}
            </>
          )
        }
      </Shown>
    </section>
  );
}

async function madeBy(userId: string, signal: AbortSignal): Promise<Answer<AnalystItem[]>> {
  const all = await request<AnalystsAnswer>('GET', base, { signal });
  if (all.ok) return { ...all, value: all.value.items.filter(({ made_by }) => made_by === userId) };
  // There are none then.
  return all.failure.code === 'analysts_not_set_up' ? { ok: true, value: [], version: null } : all;
}

/** Revokes all that can be; answers why one could not. */
async function revokeAll(analysts: readonly AnalystItem[]): Promise<Failure | null> {
  let failure: Failure | null = null;
  for (const { analyst_id } of analysts) {
    const answer = await request<AnalystItem>('DELETE', `${base}/${analyst_id}`);
    if (!answer.ok) failure ??= answer.failure;
  }
  return failure;
}
