/** A module plugin whose tasks take `params.ms`. */
export async function run({ params }) {
  await new Promise((resolve) => setTimeout(resolve, params.ms));
}
