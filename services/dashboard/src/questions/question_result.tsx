import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { AnswerTable } from '#pipelines/analytics/answer_table.ts';
import type { Questions } from '../api/questions.ts';
import type { Asked } from '../api/use_answer.ts';
import { Panel } from '../ui/panel.tsx';
import { Shown } from '../ui/states.tsx';
import { mayAt } from '../who.ts';
import { ActorDialog, type ListedPart } from './actor_dialog.tsx';
import { QuestionActions } from './question_actions.tsx';
import type { Answered } from './use_question.ts';

interface QuestionResultProps<Name extends keyof Questions> {
  siteId: string;
  name: Name;
  asked: Asked<Answered<Name>>;
  /** Lines of room that are kept for the answer. */
  lines?: number;
  /** The answer as people read it in a spreadsheet, where it is not what the service writes. */
  table?: (answered: Answered<Name>) => AnswerTable;
  /** `onPart` opens the list of who is in a part of the answer; undefined where single persons may not be asked for. */
  children: (answered: Answered<Name>, onPart: ((part: ListedPart) => void) | undefined) => VNode;
}

/** The answer to a question, what can be done with it, and the list of who is in a part of it. */
export function QuestionResult<Name extends keyof Questions>({
  siteId,
  name,
  asked,
  lines = 10,
  table,
  children,
}: QuestionResultProps<Name>): VNode {
  const [part, setPart] = useState<ListedPart | null>(null);
  const onPart = mayAt('query.persons', siteId) ? setPart : undefined;
  return (
    <>
      <Panel
        title="Result"
        actions={
          <QuestionActions
            siteId={siteId}
            name={name}
            query={asked.value?.query ?? null}
            asOf={asked.value?.answer.as_of ?? null}
            table={table === undefined || asked.value === null ? null : withAnswer(table, asked.value)}
          />
        }
      >
        <Shown asked={asked} lines={lines}>
          {(answered) => children(answered, onPart)}
        </Shown>
      </Panel>
      {part !== null && <ActorDialog siteId={siteId} part={part} onClose={() => setPart(null)} />}
    </>
  );
}

const withAnswer =
  <Value,>(table: (answered: Value) => AnswerTable, answered: Value): (() => AnswerTable) =>
  () =>
    table(answered);
