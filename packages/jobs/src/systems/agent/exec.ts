import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { SYSTEM_LIMITS } from '../limits.js';
import type { Connection } from '../types.js';
import type { Asking } from './ask.js';
import { AGENT_LIMITS, type ExecAsk, PATHS } from './protocol.js';

const Result = Type.Object({
  code: Type.Union([Type.Integer(), Type.Null()]),
  signal: Type.Union([Type.String({ maxLength: 64 }), Type.Null()]),
  stdout: Type.String(),
  stderr: Type.String(),
});

/** Runs programs on a node, as the user that its owner named. */
export function agentExec(asking: Asking, environment: Readonly<Record<string, string>>): Connection['exec'] {
  return async (argv, { input = '', timeoutMs = SYSTEM_LIMITS.commandMs, signal } = {}) => {
    const { slots } = asking.link;
    await slots.take();
    try {
      const ask: ExecAsk = { argv, input, timeoutMs, environment };
      const told = await asking.ask(PATHS.exec, ask, {
        timeoutMs: timeoutMs + AGENT_LIMITS.marginMs,
        ...(signal !== undefined && { signal }),
      });
      if (Value.Check(Result, told)) return told;
      throw asking.misunderstood();
    } finally {
      slots.give();
    }
  };
}
