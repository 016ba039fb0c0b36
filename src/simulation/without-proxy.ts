const proxies = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/**
 * Runs a task while a proxy of the environment does not apply to this machine. Hardhat's
 * simulator reads the variables when it makes a fork, and would send the requests for a
 * loopback address to the proxy. Do not run it twice at the same time.
 */
export async function withoutProxy<T>(task: () => Promise<T>): Promise<T> {
  const { env } = process;
  if (!proxies.some((name) => (env[name] ?? "") !== "")) {
    return await task();
  }
  const { NO_PROXY, no_proxy } = env;
  // The first that is set counts.
  const excluded = NO_PROXY ?? no_proxy ?? "";
  env["NO_PROXY"] = excluded === "" ? "127.0.0.1" : `${excluded},127.0.0.1`;
  try {
    return await task();
  } finally {
    if (NO_PROXY === undefined) {
      delete env["NO_PROXY"];
    } else {
      env["NO_PROXY"] = NO_PROXY;
    }
  }
}
