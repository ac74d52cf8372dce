/** What was typed cannot be done: one line for the terminal, and exit status 2. */
export class UsageError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
