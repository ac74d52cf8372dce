/** A value for a `{name:Type}` placeholder. */
type ParameterValue = string | number | boolean | readonly string[] | readonly number[];

/** A SELECT with its values separate: nothing that a caller gave is part of `sql`. */
export interface Statement {
  sql: string;
  parameters: Record<string, ParameterValue>;
}

type ParameterType = 'String' | 'Float64' | 'Int64' | 'UInt64' | 'UInt32' | 'Array(String)' | 'Array(Float64)';

/** Collects the values of one statement. */
export interface Binder {
  /** The placeholder of a value; equal values of one type share it. */
  bind(value: ParameterValue, type: ParameterType): string;
  statement(sql: string): Statement;
}

export function createBinder(): Binder {
  const parameters: Record<string, ParameterValue> = {};
  const places = new Map<string, string>();
  return {
    bind(value, type) {
      const known = JSON.stringify([type, value]);
      let name = places.get(known);
      if (name === undefined) {
        name = `p${places.size}`;
        places.set(known, name);
        parameters[name] = value;
      }
      return `{${name}:${type}}`;
    },
    statement: (sql) => ({ sql, parameters }),
  };
}
