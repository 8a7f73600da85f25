/** Of push jobs and node states, whose routes are those that clients of Chef Push Jobs know. */
const TIMES = ['created_at', 'updated_at', 'owner_since', 'deadline'];
const RFC_1123 = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/;

/** Those routes tell times as RFC 1123 has them; the command line tells all times as ISO 8601. `answer`: an object, or a list of them. */
export function withIsoTimes(answer: unknown): unknown {
  if (Array.isArray(answer)) return answer.map(withIsoTimes);
  if (typeof answer !== 'object' || answer === null) return answer;
  const times = TIMES.map((key) => [key, (answer as Readonly<Record<string, unknown>>)[key]]).filter(
    (one): one is [string, string] => typeof one[1] === 'string' && RFC_1123.test(one[1]),
  );
  if (times.length === 0) return answer;
  return { ...answer, ...Object.fromEntries(times.map(([key, at]) => [key, new Date(at).toISOString()])) };
}
