import { deadline } from './deadline.ts';

/** Asks of one kind that go together: each waits for its own answer. */
export type Gathered<Question, Answer> = (group: string, question: Question) => Promise<Answer>;

export interface GatherLimits {
  /** Questions in one call. */
  questionsMax: number;
  /** Questions of one group that wait for a call; one more is refused at once. */
  waitingMax: number;
  /** Longest that a question waits for its answer, the calls before its own included. */
  waitMsMax: number;
  /** What is thrown where a question has waited so long, or is one too many. */
  tooLate(): Error;
}

interface Waiting<Question, Answer> {
  question: Question;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/**
 * One call of a group is under way at a time, and what is asked meanwhile shares the next one: at rest a question causes a
 * call at once, under load many share its cost. A question that has given up is not asked any more.
 *
 * @param ask Answers questions of one group, in their order; what it throws is thrown to each.
 */
export function gather<Question, Answer>(
  ask: (group: string, questions: readonly Question[]) => Promise<readonly Answer[]>,
  { questionsMax, waitingMax, waitMsMax, tooLate }: GatherLimits,
): Gathered<Question, Answer> {
  /** Of the groups for which a call is under way. */
  const groups = new Map<string, Set<Waiting<Question, Answer>>>();

  async function askSome(group: string, some: readonly Waiting<Question, Answer>[]): Promise<void> {
    try {
      const answers = await ask(
        group,
        some.map(({ question }) => question),
      );
      for (const [at, { resolve }] of some.entries()) resolve(answers[at] as Answer);
    } catch (error) {
      for (const { reject } of some) reject(error);
    }
  }

  async function askAll(group: string, waiting: Set<Waiting<Question, Answer>>): Promise<void> {
    while (waiting.size > 0) {
      const some = takeFirst(waiting, questionsMax);
      await askSome(group, some);
    }
    groups.delete(group);
  }

  return (group, question) => {
    const known = groups.get(group);
    if (known !== undefined && known.size >= waitingMax) return Promise.reject(tooLate());
    const waiting = known ?? new Set();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const end = deadline(waitMsMax, () => {
      waiting.delete(asked);
      reject(tooLate());
    });
    const asked: Waiting<Question, Answer> = {
      question,
      resolve(answer) {
        end();
        resolve(answer);
      },
      reject(error) {
        end();
        reject(error);
      },
    };
    waiting.add(asked);
    if (known === undefined) {
      groups.set(group, waiting);
      void askAll(group, waiting);
    }
    return promise;
  };
}

function takeFirst<T>(all: Set<T>, most: number): T[] {
  const taken: T[] = [];
  for (const one of all) {
    if (taken.length >= most) break;
    taken.push(one);
    all.delete(one);
  }
  return taken;
}
