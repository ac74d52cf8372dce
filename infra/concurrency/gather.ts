/** Asks of one kind that go together: each waits for its own answer. */
export type Gathered<Question, Answer> = (group: string, question: Question) => Promise<Answer>;

interface Waiting<Question, Answer> {
  question: Question;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/**
 * One call of a group is under way at a time, and what is asked meanwhile shares the next one: at rest a question causes a
 * call at once, under load many share its cost.
 *
 * @param ask Answers at most `questionsMax` questions of one group, in their order; what it throws is thrown to each.
 */
export function gather<Question, Answer>(
  ask: (group: string, questions: readonly Question[]) => Promise<readonly Answer[]>,
  questionsMax: number,
): Gathered<Question, Answer> {
  /** Of the groups for which a call is under way. */
  const groups = new Map<string, Waiting<Question, Answer>[]>();

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

  async function askAll(group: string, waiting: Waiting<Question, Answer>[]): Promise<void> {
    while (waiting.length > 0) await askSome(group, waiting.splice(0, questionsMax));
    groups.delete(group);
  }

  return (group, question) =>
    new Promise((resolve, reject) => {
      const waiting = groups.get(group);
      if (waiting !== undefined) {
        waiting.push({ question, resolve, reject });
        return;
      }
      const first = [{ question, resolve, reject }];
      groups.set(group, first);
      void askAll(group, first);
    });
}
