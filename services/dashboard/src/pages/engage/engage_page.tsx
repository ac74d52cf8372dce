import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { FormResults, PromoResults, SurveyResults } from '#pipelines/analytics/engage_results.ts';
import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import type { EngageView } from '#services/control_api/engage.ts';
import { listAll, request } from '../../api/request.ts';
import { useQuery } from '../../api/use_answer.ts';
import { ConflictDialog, useEditForm } from '../../editing/editing.tsx';
import { number, percent } from '../../format.ts';
import type { PageProps } from '../../page_list.ts';
import { readPeriod } from '../../period.ts';
import { currentLocation, setQuery } from '../../router.ts';
import { mayAt } from '../../session.ts';
import { Button } from '../../ui/button.tsx';
import { AskedTable, agoColumn, type Column, numberColumn, openColumn, stateColumn } from '../../ui/data_table.tsx';
import { Dialog, toast, useUnsaved } from '../../ui/dialog.tsx';
import { submitHandler, TextField } from '../../ui/form_fields.tsx';
import { Bars, FailureNote, Loading, Panel, Shown, type StateLook, Tabs } from '../../ui/panel.tsx';
import * as engage from './engage_item.ts';
import { KINDS, type KindSpec, shownState } from './engage_item.ts';
import {
  DefinitionActions,
  type DefinitionFormProps,
  type DefinitionTabProps,
  type EngageDialogProps,
} from './form/definition_form.tsx';

export default function EngagePage({ params }: PageProps) {
  const siteId = params['site'] ?? '';
  return (
    <Tabs
      label="Kinds"
      chosen={currentLocation.value.query.get('kind') ?? 'survey'}
      onChosen={(kind) => setQuery({ kind: kind === 'survey' ? null : kind, item: null })}
      tabs={KINDS.map((spec) => ({
        id: spec.kind,
        label: spec.title,
        content: () => <OneKind key={spec.kind} siteId={siteId} spec={spec} />,
      }))}
    />
  );
}

function OneKind({ siteId, spec }: { siteId: string; spec: KindSpec }) {
  const path = `/v1/admin/sites/${encodeURIComponent(siteId)}/${spec.path}`;
  const asked = useQuery(`${siteId} ${spec.kind}`, (signal) => listAll<EngageView>(path, {}, 1_000, signal));
  const chosen = currentLocation.value.query.get('item');
  const item = asked.value?.items.find(({ id }) => id === chosen) ?? null;
  return (
    <Panel
      title={spec.title}
      actions={
        mayAt('engage.change', siteId) && (
          <Button kind="primary" label={`New ${spec.one}`} onClick={() => setQuery({ item: '+' }, 'push')} />
        )
      }
    >
      <AskedTable
        asked={asked}
        caption={`List of ${spec.title.toLowerCase()}`}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        csvName={spec.path}
        emptyText={`No ${spec.title.toLowerCase()} yet`}
      />
      {(item !== null || (chosen === '+' && asked.value !== null)) && (
        <EngageDialog
          key={item?.id ?? '+'}
          siteId={siteId}
          spec={spec}
          path={path}
          item={item}
          onChanged={asked.again}
          onClose={() => setQuery({ item: null }, 'push')}
        />
      )}
    </Panel>
  );
}

const STATES: Readonly<Record<ReturnType<typeof shownState>, StateLook>> = {
  on: { label: 'Active', badge: 'good' },
  off: { label: 'Paused', badge: 'plain' },
  later: { label: 'Scheduled', badge: 'warn' },
  over: { label: 'Ended', badge: 'plain' },
};
const stateOf = (item: EngageView) => STATES[shownState(item, Date.now())];

const COLUMNS: readonly Column<EngageView>[] = [
  openColumn({
    ...{ id: 'name', title: 'Name', look: 'strong', value: ({ name }) => name },
    open: ({ id }) => setQuery({ item: id }, 'push'),
  }),
  stateColumn('state', 'State', (item) => stateOf(item)),
  { id: 'place', title: 'Placement', value: (item) => item.place },
  numberColumn('priority', 'Priority', ({ priority }) => priority),
  numberColumn(
    'share',
    'Share',
    ({ share_percent }) => share_percent,
    (percent) => `${percent}%`,
  ),
  agoColumn('changed', 'Changed', ({ changed_at }) => changed_at),
  { id: 'by', title: 'Changed by', value: ({ changed_by }) => changed_by },
];

function EngageDialog(props: EngageDialogProps) {
  const { spec, item, onClose } = props;
  return (
    <Dialog title={item === null ? `New ${spec.one}` : item.name} kind="wide" onClose={onClose}>
      <Views {...props} />
    </Dialog>
  );
}

function Views({ siteId, spec, path, item, onChanged, onClose }: EngageDialogProps) {
  const [view, setView] = useState(item === null ? 'edit' : 'results');
  const one = item === null ? path : `${path}/${encodeURIComponent(item.id)}`;
  const finish = (): void => {
    onChanged();
    onClose();
  };
  const form = useEditForm<EngageView | engage.NewItem, { text: string }>({
    item: item ?? engage.NEW_ITEM,
    draftOf: (of) => ({ text: 'id' in of ? engage.definitionText(of) : engage.textOf(spec.blank) }),
    factsOf: ({ text }) => engage.definitionFacts(text),
    merge: (...drafts) => ({ text: engage.textOf(engage.mergedDefinition(...definitionsIn(drafts)).merged) }),
    replaced: (...drafts) => engage.mergedDefinition(...definitionsIn(drafts)).replaced,
    read: () => request('GET', one),
    write({ text }, base) {
      const body = engage.sentDefinition(engage.definitionFacts(text));
      return 'id' in base ? request('PUT', one, { body, version: base.version }) : request('POST', one, { body });
    },
    onSaved(saved) {
      toast(`Saved ${'name' in saved ? saved.name : ''}`);
      onClose();
    },
    onDone: onChanged,
  });
  useUnsaved(form.isChanged);
  const shared: DefinitionTabProps = { siteId, spec, path: one, item, form, onRemoved: finish, onChanged };
  const edit = {
    id: 'edit',
    label: 'Edit',
    keeps: true,
    content: () => <LoadedForm {...shared} isSeen={view === 'edit'} />,
  };
  const advanced = {
    id: 'advanced',
    label: 'Advanced',
    keeps: true,
    content: () => <AdvancedDefinition {...shared} />,
  };
  return (
    <>
      <Tabs
        label="Views"
        chosen={view}
        onChosen={setView}
        tabs={
          item === null
            ? [edit, advanced]
            : [
                {
                  ...{ id: 'results', label: 'Results' },
                  content: () => <EngageResults siteId={siteId} kind={spec.kind} item={item} />,
                },
                edit,
                advanced,
              ]
        }
      />
      <ConflictDialog saving={form} what={`this ${spec.one}`} />
    </>
  );
}

type Three<Of> = [loaded: Of, mine: Of, theirs: Of];
const definitionsIn = ([loaded, mine, theirs]: Three<{ text: string }>): Three<object> => [
  engage.definitionFacts(loaded.text),
  engage.definitionFacts(mine.text),
  engage.definitionFacts(theirs.text),
];

/** A definition in JSON, for what the form beside it does not have. */
function AdvancedDefinition(props: DefinitionTabProps) {
  const { form } = props;
  const { text } = form.draft;
  const typed = engage.readObject(text);
  const save = (enabled?: boolean): void => {
    if (typed.ok) void form.save(enabled === undefined ? {} : { text: engage.textWith(text, ['enabled'], enabled) });
  };
  return (
    <form class="stack code-form" onSubmit={submitHandler(() => save())}>
      <fieldset class="stack" disabled={form.isBusy}>
        <TextField
          label="Definition in JSON"
          lines={22}
          hint="See docs/engage.md for each field. Omitted fields have their defaults."
          problem={typed.ok ? '' : typed.message}
          value={text}
          onValue={(value) => form.edit({ text: value })}
        />
      </fieldset>
      {form.failure !== null && <FailureNote failure={form.failure} />}
      <DefinitionActions {...props} onSave={save} />
    </form>
  );
}

/** The form, whose code is fetched when the first one is opened: it brings the API's shapes and the tag's panels. */
function LoadedForm(props: DefinitionFormProps) {
  const [Form, setForm] = useState<FunctionComponent<DefinitionFormProps> | null>(null);
  const [isAway, setAway] = useState(false);
  useEffect(() => {
    import('./form/definition_form.tsx').then(
      ({ DefinitionForm }) => setForm(() => DefinitionForm),
      () => setAway(true),
    );
  }, []);
  if (isAway) return <p class="muted">The form could not be loaded. Advanced has the definition in JSON.</p>;
  return Form === null ? <Loading lines={8} label="Loading the form" /> : <Form {...props} />;
}

type Results = SurveyResults | PromoResults | FormResults;

interface EngageResultsProps {
  siteId: string;
  kind: EngageKind;
  item: EngageView;
}

function EngageResults({ siteId, kind, item }: EngageResultsProps) {
  const period = readPeriod(currentLocation.value.query, Date.now());
  const path = `/v1/query/${encodeURIComponent(siteId)}/${kind}`;
  const body = { from: period.from, to: period.to, id: item.id };
  const asked = useQuery(`${path} ${item.id} ${period.from} ${period.lastDay}`, (signal) =>
    request<Results>('POST', path, { body, signal }),
  );
  return (
    <div class="stack">
      <p class="muted">{period.label}</p>
      <Shown asked={asked}>
        {(results) => (
          <div class="stack">
            <ul class="figures">
              {figuresOf(results).map(([name, text]) => (
                <li class="figure" key={name}>
                  <span class="figure-name">{name}</span>
                  <span class="figure-total">{text}</span>
                </li>
              ))}
            </ul>
            {'questions' in results && <Questions questions={results.questions} item={item} />}
            {'sources' in results && <Ranked title="Lead sources" rows={results.sources} empty="Unknown" />}
          </div>
        )}
      </Shown>
    </div>
  );
}

function figuresOf(results: Results): readonly (readonly [name: string, text: string])[] {
  if ('completed' in results) {
    const { shown, answered, completed, dismissed, completion, nps } = results;
    return [
      ['Shown', number(shown.times)],
      ['Answered', number(answered.times)],
      ['Completed', `${number(completed.times)} (${percent(completion)})`],
      ['Dismissed', number(dismissed.times)],
      ...(nps === null ? [] : [['NPS', number(nps.score)] as const]),
    ];
  }
  if ('viewed' in results) {
    const { viewed, clicked, dismissed, code_copied, redeemed, conversion } = results;
    return [
      ['Viewed', number(viewed.times)],
      ['Clicked', `${number(clicked.times)} (${percent(conversion)})`],
      ['Code copied', number(code_copied.times)],
      ['Redeemed', number(redeemed.times)],
      ['Dismissed', number(dismissed.times)],
    ];
  }
  const { shown, submitted, dismissed, conversion } = results;
  return [
    ['Shown', number(shown.times)],
    ['Submitted', `${number(submitted.times)} (${percent(conversion)})`],
    ['Dismissed', number(dismissed.times)],
  ];
}

const Questions = ({ questions, item }: Pick<SurveyResults, 'questions'> & { item: EngageView }) => (
  <>
    {engage.asAsked(questions, item).map(({ id, answers, average, values }) => {
      const words = engage.questionWords(item, id);
      return (
        <Ranked
          key={id}
          title={`${words.text}: ${number(answers)} ${answers === 1 ? 'answer' : 'answers'}${average === null ? '' : `, on average ${number(average)}`}`}
          rows={values.map(({ value, times }) => ({ value: words.choices.get(value) ?? value, times }))}
          empty="No text"
        />
      );
    })}
  </>
);

interface RankedProps {
  title: string;
  rows: readonly { value: string; times: number }[];
  empty: string;
}

function Ranked({ title, rows, empty }: RankedProps) {
  const most = Math.max(1, ...rows.map(({ times }) => times));
  return (
    <section class="stack-small">
      <h3>{title}</h3>
      {rows.length === 0 ? (
        <p class="muted">No data yet</p>
      ) : (
        <Bars
          bars={rows.map(({ value, times }) => ({
            ...{ key: value, share: times / most, count: times },
            name: <span class="wraps">{value || empty}</span>,
          }))}
        />
      )}
    </section>
  );
}
