/** Events after which somebody may do something else. */
export const TOLD = "type LIKE 'auth.%'";
