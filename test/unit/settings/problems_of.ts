import type { Problem } from '#pipelines/settings/problems.ts';

/** Problems as `code field`, for comparing. */
export const problemsOf = (problems: Problem[]): string[] => problems.map(({ code, field }) => `${code} ${field}`);
