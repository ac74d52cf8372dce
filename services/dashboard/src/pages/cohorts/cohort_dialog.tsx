import { useMemo, useState } from 'preact/hooks';
import type { AnswerTable } from '#pipelines/analytics/answer_table.ts';
import type { Questions } from '#pipelines/analytics/questions.ts';
import {
  ADDED_MAX,
  type CohortItem,
  type MembersAdded,
  type MembersRemoved,
  REMOVED_MAX,
} from '#services/control_api/cohorts.ts';
import { type ApiError, type ApiResult, ask, request, sitePath } from '../../api/request.ts';
import { useMutation } from '../../api/use_answer.ts';
import { EditForm, RemoveButton, useEditForm } from '../../editing/editing.tsx';
import { number, sortableTime, zonedTitle } from '../../format.ts';
import { AddFilter, ChoiceField, FilterList, SelectionFields } from '../../questions/filter_fields.tsx';
import { SiteNamesContext, useNames } from '../../questions/site_names.ts';
import { mayAt } from '../../session.ts';
import { Button } from '../../ui/button.tsx';
import { saveCsv, saveFile } from '../../ui/data_table.tsx';
import { Dialog, toast } from '../../ui/dialog.tsx';
import { ActionForm, LabelledField, Problem, problemOf, TextField } from '../../ui/form_fields.tsx';
import { FailureNote } from '../../ui/panel.tsx';
import * as forms from './cohort_form.ts';

interface CohortDialogProps {
  siteId: string;
  /** Null: a new one. */
  item: CohortItem | null;
  taken: readonly string[];
  onChanged(): void;
  onListed(): void;
  onClose(): void;
}

const NEW_META = { version: '', changed_at: 0, changed_by: '' };
type Edited = CohortItem | typeof NEW_META;
const isThere = (one: Edited): one is CohortItem => 'id' in one;
const NAMES = { name: 'Name', match: 'Match', dids: 'Events', persons: 'People', kind: 'Kind' };

/** Why conditions are not sent, as the service would say it; null: they can be. */
function refusalOf(draft: forms.CohortDraft): { ok: false; failure: ApiError } | null {
  const problems = forms.draftProblems(draft);
  const message = 'Some fields are invalid; see problems.';
  return problems.length === 0
    ? null
    : { ok: false, failure: { status: 400, code: 'settings_invalid', message, problems } };
}

export function CohortDialog({ siteId, item, taken, onChanged, onListed, onClose }: CohortDialogProps) {
  const path = sitePath(siteId, 'cohorts', ...(item === null ? [] : [item.id]));
  const read = (): Promise<ApiResult<CohortItem>> => request('GET', path);
  const form = useEditForm<Edited, forms.CohortDraft>({
    item: item ?? NEW_META,
    draftOf: (one) => (isThere(one) ? forms.draftOfCohort(one) : forms.NEW_DRAFT),
    read,
    write: async (draft, base) =>
      refusalOf(draft) ??
      (isThere(base)
        ? request('PUT', path, { body: forms.cohortOf(draft, base, []), version: base.version })
        : request('POST', path, { body: forms.cohortOf(draft, null, taken) })),
    onSaved(saved) {
      toast(`Saved ${isThere(saved) ? saved.name : ''}`);
      onClose();
    },
    onDone: onChanged,
  });
  const { draft, failure, edit } = form;
  const removal =
    item === null ? null : (
      <RemoveButton<CohortItem>
        item={item}
        name={item.name}
        what="this cohort"
        names={NAMES}
        factsOf={(one) => ({ ...forms.draftOfCohort(one) })}
        read={read}
        remove={({ version }) => request('DELETE', path, { version })}
        onRemoved={() => {
          onChanged();
          onClose();
        }}
        onTheirs={onChanged}
      >
        Saved questions that name it cannot be answered any more. Events stay.
      </RemoveButton>
    );
  return (
    <Dialog title={item === null ? 'New cohort' : item.name} kind="side" isChanged={form.isChanged} onClose={onClose}>
      <div class="stack">
        <EditForm
          form={form}
          mayChange={mayAt('saved.change', siteId)}
          mayBeUnchanged={item === null}
          more={removal}
          what="this cohort"
          names={NAMES}
        >
          <TextField
            label="Name"
            required
            placeholder="Regulars"
            value={draft.name}
            problem={problemOf(failure, 'name')}
            onValue={(name) => edit({ name })}
          />
          {item === null && (
            <ChoiceField
              label="Kind"
              value={draft.kind}
              labels={forms.KIND_LABELS}
              hint="A list is filled once it is saved."
              onChoice={(kind) => edit({ kind })}
            />
          )}
          {draft.kind === 'conditions' && <ConditionFields draft={draft} failure={failure} onDraft={edit} />}
        </EditForm>
        {draft.kind === 'conditions' && <Count siteId={siteId} draft={draft} />}
        {item !== null && mayAt('query.persons', siteId) && <Export siteId={siteId} item={item} />}
        {item !== null && draft.kind === 'list' && mayAt('query.persons', siteId) && mayAt('saved.change', siteId) && (
          <Members path={`${path}/members`} onListed={onListed} />
        )}
      </div>
    </Dialog>
  );
}

interface FieldsProps {
  draft: forms.CohortDraft;
  failure: ApiError | null;
  onDraft(change: Partial<forms.CohortDraft>): void;
}

function ConditionFields({ draft, failure, onDraft }: FieldsProps) {
  const names = useNames();
  const ofPersons = useMemo(
    () => ({ ...names, fields: names.fields.filter(({ value }) => /^\{"(?:person|cohort)"/.test(value)) }),
    [names],
  );
  const { dids, persons, match } = draft;
  const filtered = {
    ...{ what: 'People', filters: persons },
    onFilters: (changed: forms.CohortDraft['persons']) => onDraft({ persons: changed }),
  };
  return (
    <>
      <ChoiceField
        label="Match"
        value={match}
        labels={forms.MATCH_LABELS}
        onChoice={(chosen) => onDraft({ match: chosen })}
      />
      {dids.map((did, at) => (
        <DidFields
          key={at}
          what={`Event ${at + 1}`}
          place={`conditions[${at}]`}
          did={did}
          failure={failure}
          onDid={(changed) => onDraft({ dids: dids.with(at, changed) })}
          onRemove={() => onDraft({ dids: dids.toSpliced(at, 1) })}
        />
      ))}
      <p>
        <Button
          kind="small"
          icon="plus"
          label="Add an event"
          onClick={() => onDraft({ dids: [...dids, forms.NEW_DID] })}
        />
      </p>
      <SiteNamesContext value={ofPersons}>
        <fieldset class="stack-small">
          <legend class="strong">People who are, or are in another cohort</legend>
          <FilterList {...filtered} />
          <p>
            <AddFilter {...filtered} />
          </p>
        </fieldset>
      </SiteNamesContext>
      <Problem text={forms.otherProblems(failure, draft)} />
    </>
  );
}

interface DidFieldsProps {
  what: string;
  place: string;
  did: forms.DidDraft;
  failure: ApiError | null;
  onDid(did: forms.DidDraft): void;
  onRemove(): void;
}

function DidFields({ what, place, did, failure, onDid, onRemove }: DidFieldsProps) {
  const set = (change: Partial<forms.DidDraft>): void => onDid({ ...did, ...change });
  const text = (name: 'times' | 'lastDays' | 'since' | 'until', inBody: string = name) => ({
    value: did[name],
    problem: problemOf(failure, `${place}.${inBody}`),
    onValue: (value: string) => set({ [name]: value }),
  });
  return (
    <fieldset class="stack-small" aria-label={what}>
      <SelectionFields
        what={what}
        selection={did.did}
        problem={problemOf(failure, `${place}.did`)}
        onSelection={(selection) => set({ did: selection })}
        before={<span class="muted small">did</span>}
        isFirst
      />
      <div class="form-row">
        <ChoiceField
          label={`${what}: how often`}
          value={did.is}
          labels={forms.IS_LABELS}
          onChoice={(is) => set({ is })}
        />
        <TextField label={`${what}: times`} inputMode="numeric" required hint="0: never" {...text('times')} />
      </div>
      <div class="form-row">
        <ChoiceField
          label={`${what}: when`}
          value={did.within}
          labels={forms.WITHIN_LABELS}
          onChoice={(within) => set({ within })}
        />
        {did.within === 'last' && (
          <TextField label={`${what}: days`} inputMode="numeric" required {...text('lastDays', 'last_days')} />
        )}
        {did.within === 'between' && (
          <>
            <TextField label={`${what}: first day`} type="date" {...text('since')} />
            <TextField label={`${what}: last day`} type="date" {...text('until')} />
          </>
        )}
      </div>
      <p>
        <Button kind="small quiet" label={`Remove ${what.toLowerCase()}`} onClick={onRemove} />
      </p>
    </fieldset>
  );
}

/** How many people there would be, before it is saved. */
function Count({ siteId, draft }: { siteId: string; draft: forms.CohortDraft }) {
  const counting = useMutation();
  const [persons, setPersons] = useState<{ of: string; count: number } | null>(null);
  const conditions = forms.conditionsOf(draft);
  const key = JSON.stringify([draft.match, conditions]);
  const of = [{ match: draft.match, conditions }] as Questions['cohorts']['query']['of'];
  return (
    <section class="stack-small" aria-label="Count">
      <div class="row">
        <Button
          label="Count people"
          disabled={counting.isBusy}
          onClick={() =>
            counting.run(
              async () => refusalOf(draft) ?? ask(siteId, 'cohorts', { of, fresh: true }),
              ({ cohorts }) => setPersons({ of: key, count: cohorts[0]?.persons ?? 0 }),
            )
          }
        />
        <span role="status">{persons?.of === key ? `${number(persons.count)} people` : ''}</span>
      </div>
      <FailureNote failure={counting.failure} />
    </section>
  );
}

type Member = Questions['members']['answer']['members'][number];
const EXPORTED = ['person_id', 'distinct_id', 'email_sha256', 'events'] as const;
const EXPORTED_TIMES = ['first_seen', 'last_seen'] as const;
const PAGE = 1_000;

async function allMembers(siteId: string, cohort: string): Promise<ApiResult<Member[]>> {
  const members: Member[] = [];
  let after: string | null = null;
  do {
    const answer: ApiResult<Questions['members']['answer']> = await ask(siteId, 'members', {
      ...{ cohort, limit: PAGE },
      ...(after !== null && { after }),
    });
    if (!answer.ok) return answer;
    members.push(...answer.value.members);
    after = answer.value.next;
  } while (after !== null);
  return { ok: true, value: members, version: null };
}

/** Members for a spreadsheet. */
const memberTable = (members: readonly Member[]): AnswerTable => ({
  columns: [...EXPORTED, ...EXPORTED_TIMES.map((name) => zonedTitle(name))],
  rows: members.map((one) => [
    ...EXPORTED.map((name) => one[name]),
    ...EXPORTED_TIMES.map((name) => sortableTime(one[name])),
  ]),
});

function Export({ siteId, item }: { siteId: string; item: CohortItem }) {
  const exporting = useMutation();
  const save = (format: 'csv' | 'ndjson', members: readonly Member[]): void => {
    if (format === 'csv') saveCsv(item.id, memberTable(members));
    else saveFile(new Blob(members.map((one) => `${JSON.stringify(one)}\n`)), `${item.id}.ndjson`);
  };
  return (
    <section class="stack-small" aria-label="Export">
      <div class="row">
        {(['csv', 'ndjson'] as const).map((format) => (
          <Button
            key={format}
            kind="small"
            icon="download"
            label={format === 'csv' ? 'People as CSV' : 'People as NDJSON'}
            disabled={exporting.isBusy}
            onClick={() =>
              exporting.run(
                () => allMembers(siteId, item.id),
                (members) => save(format, members),
              )
            }
          />
        ))}
      </div>
      <FailureNote failure={exporting.failure} />
    </section>
  );
}

/** A list has 100,000 members at the most: of these, 160 characters each. */
const FILE_BYTES_MAX = 16_000_000;

const said = (value: string): ApiResult<string> => ({ ok: true, value, version: null });

function Members({ path, onListed }: { path: string; onListed(): void }) {
  const [kind, setKind] = useState<forms.MemberKind>('distinct_id');
  const [text, setText] = useState('');
  const [how, setHow] = useState<forms.MemberAction>('add');
  const [isTooLarge, setTooLarge] = useState(false);
  const [refused, setRefused] = useState<readonly string[]>([]);
  const most = how === 'remove' ? REMOVED_MAX : ADDED_MAX;
  const steps = useMemo(() => forms.memberSteps(text, kind, most), [text, kind, most]);
  const read = async (input: HTMLInputElement): Promise<void> => {
    const file = input.files?.[0];
    if (file === undefined) return;
    setTooLarge(file.size > FILE_BYTES_MAX);
    if (file.size <= FILE_BYTES_MAX) setText(await file.text());
    // The same file can be chosen again once it is mended.
    input.value = '';
  };
  const add = async (replaces: boolean): Promise<ApiResult<string>> => {
    const total = { taken: 0, refused: 0, listed: 0, replacement: replaces ? 'new' : null };
    const faults: string[] = [];
    for (const step of steps) {
      const { replacement } = total;
      const body = { members: step.map(({ member }) => member), ...(replacement !== null && { replacement }) };
      const answer = await request<MembersAdded>('POST', path, { body });
      if (!answer.ok) return answer;
      total.replacement = answer.value.replacement;
      total.taken += answer.value.taken;
      total.refused += answer.value.refused;
      total.listed = answer.value.listed;
      for (const { at, code } of answer.value.refusals) {
        faults.push(`Line ${step[at]?.line}: ${forms.refusalText(code, kind)}`);
      }
    }
    setRefused(forms.firstFaults(faults, total.refused));
    if (replaces) {
      // The list is what it was until all is there.
      const replaced = await request<object>('PUT', path, { body: { replacement: total.replacement } });
      if (!replaced.ok) return replaced;
    }
    const others = total.refused === 0 ? '' : `; ${number(total.refused)} not valid`;
    return said(`${number(total.taken)} added, the list has ${number(total.listed)}${others}`);
  };
  const remove = async (): Promise<ApiResult<string>> => {
    const total = { removed: 0, listed: 0 };
    for (const step of steps) {
      const body = { members: step.map(({ member }) => member) };
      const answer = await request<MembersRemoved>('POST', `${path}/remove`, { body });
      if (!answer.ok) return answer;
      total.removed += answer.value.removed;
      total.listed = answer.value.listed;
    }
    return said(`${number(total.removed)} removed, the list has ${number(total.listed)}`);
  };
  return (
    <section class="stack-small" aria-labelledby="members">
      <h3 id="members">Members</h3>
      <ActionForm<string>
        action={forms.MEMBER_ACTIONS[how]}
        isReady={steps.length > 0}
        run={() => (how === 'remove' ? remove() : add(how === 'replace'))}
        onDone={(told) => {
          toast(told);
          setText('');
          onListed();
        }}
      >
        {(failure) => (
          <>
            {refused.length > 0 && (
              <div class="note note-warn">
                <ul class="stack-small" aria-label="Lines that were not valid">
                  {refused.map((fault) => (
                    <li key={fault}>{fault}</li>
                  ))}
                </ul>
              </div>
            )}
            <ChoiceField label="They are" value={kind} labels={forms.MEMBER_LABELS} onChoice={setKind} />
            <LabelledField
              label="From a file"
              hint="CSV or text: the first column, a member on each line."
              problem={isTooLarge ? 'The file has more than 16 MB.' : ''}
            >
              {(described) => (
                <input
                  {...described}
                  type="file"
                  accept=".csv,.txt,text/csv,text/plain"
                  onChange={({ currentTarget }) => void read(currentTarget)}
                />
              )}
            </LabelledField>
            <TextField
              label="Or typed"
              lines={4}
              hint="Addresses and numbers are hashed, and not kept."
              problem={problemOf(failure, 'members')}
              value={text}
              onValue={setText}
            />
            <ChoiceField label="What to do" value={how} labels={forms.MEMBER_ACTIONS} onChoice={setHow} />
          </>
        )}
      </ActionForm>
    </section>
  );
}
